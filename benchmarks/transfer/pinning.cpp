#include <isthmus/pinned.hpp>

#include <optional>

#include "tables.hpp"

namespace {

constexpr std::size_t kNumPins = 7;

/// A block of a new pool, pinned and unpinned: nothing is reused.
Row new_memory(Arena& arena, std::size_t size_bytes) {
  std::vector<double> pin;
  std::vector<double> unpin;
  std::vector<double> driver_pin;
  std::vector<double> driver_unpin;
  for (std::size_t round = 0; round < kNumPins; ++round) {
    isthmus::PinnedPool pool(arena.driver(), 0);
    void* block = nullptr;
    pin.push_back(seconds_of([&] { block = pool.allocate(size_bytes); }, 1));
    unpin.push_back(seconds_of(
        [&] {
          pool.free(block);
          pool.trim();
        },
        1));
    std::optional<isthmus::PinnedBuffer> buffer;
    driver_pin.push_back(seconds_of([&] { buffer.emplace(arena.context(), size_bytes); }, 1));
    driver_unpin.push_back(seconds_of([&] { buffer.reset(); }, 1));
  }
  return Row()
      .add("what", "new")
      .add("bytes", size_bytes)
      .add("allocate_s", median(pin))
      .add("free_s", median(unpin))
      .add("cuMemHostAlloc_s", median(driver_pin))
      .add("cuMemFreeHost_s", median(driver_unpin));
}

/// Blocks of a pool with free memory: an allocate and its free.
Row pooled(Arena& arena, std::size_t size_bytes) {
  isthmus::PinnedPool pool(arena.driver(), 0);
  pool.free(pool.allocate(size_bytes));
  const Task cycle = [&] { pool.free(pool.allocate(size_bytes)); };
  const std::uint64_t before = pool.stats().num_pins;
  const double seconds = medians({cycle}, {.num_rounds = 101})[0];
  return Row()
      .add("what", "pooled")
      .add("bytes", size_bytes)
      .add("allocate_and_free_s", seconds)
      .add("num_pins_meanwhile", static_cast<std::size_t>(pool.stats().num_pins - before));
}

}  // namespace

std::vector<Row> pinning(Arena& arena) {
  std::vector<Row> rows;
  for (std::size_t size_bytes = 64 * kKib; size_bytes <= arena.max_bytes(); size_bytes *= 16)
    rows.push_back(new_memory(arena, size_bytes));
  if (arena.max_bytes() >= 1024 * kMib) rows.push_back(new_memory(arena, 1024 * kMib));
  for (const std::size_t size_bytes : {std::size_t{64}, 4 * kKib, kMib, 16 * kMib})
    rows.push_back(pooled(arena, size_bytes));
  return rows;
}
