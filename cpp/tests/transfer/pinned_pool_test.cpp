// The pool: what it allocates, what it keeps, what it refuses.
#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "driver/child_process.hpp"
#include "transfer/pinned_memory_under_test.hpp"

namespace isthmus::transfer {
namespace {

class Pool : public PinnedMemoryUnderTest {
protected:
  static PinnedPoolOptions small_regions() {
    PinnedPoolOptions options;
    options.region_bytes = 4 * kMiB;
    return options;
  }
  static PinnedPoolOptions capped(std::size_t max_bytes) {
    PinnedPoolOptions options = small_regions();
    options.max_bytes = max_bytes;
    return options;
  }
};

TEST_F(Pool, GivesPinnedMemoryThatCanBeWritten) {
  PinnedPool memory = pool(small_regions());
  auto* block = static_cast<std::uint8_t*>(memory.allocate(1000));
  std::fill_n(block, 1000, std::uint8_t{5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0u);
  EXPECT_NE(device_pointer(block), 0u);
  EXPECT_TRUE(memory.contains(block, 1000));
  EXPECT_FALSE(memory.contains(&memory, 1));
  EXPECT_FALSE(memory.contains(block, std::size_t{1} << 40U));
  memory.free(block);
}

TEST_F(Pool, RoundsEverySizeUpByAnEighthAtMost) {
  PinnedPool memory = pool();
  std::mt19937_64 generator(1);
  std::vector<std::size_t> sizes{1, 63, 64, 65, 511, 512, 513, 1025, 32 * kMiB, 32 * kMiB + 1};
  for (int i = 0; i < 400; ++i) sizes.push_back(1 + generator() % (std::size_t{64} << (i % 20)));
  for (const std::size_t size_bytes : sizes) {
    void* block = memory.allocate(size_bytes);
    const std::size_t used_bytes = memory.stats().used_bytes;
    EXPECT_GE(used_bytes, size_bytes);
    EXPECT_LE(used_bytes,
              size_bytes <= 512 ? (size_bytes + 63) / 64 * 64 : size_bytes + size_bytes / 8)
        << size_bytes;
    memory.free(block);
  }
}

TEST_F(Pool, PinsOnceForManySmallBlocks) {
  PinnedPool memory = pool(small_regions());
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(memory.allocate(1000));
  EXPECT_EQ(memory.stats().num_pins, 1u);
  EXPECT_EQ(memory.stats().num_from_cache, 999u);
  for (void* block : blocks) memory.free(block);
  void* whole_half = memory.allocate(2 * kMiB - 64);
  EXPECT_EQ(memory.stats().num_pins, 1u) << "free blocks weren't joined";
  memory.free(whole_half);
}

TEST_F(Pool, GivesLargeBlocksARegionOfTheirOwnAndKeepsIt) {
  PinnedPool memory = pool(small_regions());
  void* block = memory.allocate(10 * kMiB);
  EXPECT_EQ(memory.stats().pinned_bytes, 10 * kMiB) << "exactly its size";
  memory.free(block);
  EXPECT_EQ(memory.allocate(9 * kMiB + 512 * kKiB), block);
  EXPECT_EQ(memory.stats().num_pins, 1u);
  memory.free(block);
  EXPECT_NE(memory.allocate(8 * kMiB), block) << "a quarter of it would be wasted";
}

TEST_F(Pool, NeverCutsSmallBlocksFromALargeOne) {
  PinnedPool memory = pool(small_regions());
  memory.free(memory.allocate(10 * kMiB));
  memory.allocate(100);
  EXPECT_EQ(memory.stats().num_pins, 2u);
  EXPECT_EQ(memory.stats().pinned_bytes, 14 * kMiB);
}

TEST_F(Pool, AlignsAsAsked) {
  PinnedPool memory = pool(small_regions());
  memory.allocate(64);
  for (std::size_t alignment = 1; alignment <= 2 * kMiB; alignment *= 2) {
    void* block = memory.allocate(100, PinnedPool::kNoStream, alignment);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
  }
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{96}, 4 * kMiB}) {
    EXPECT_THROW(memory.allocate(100, PinnedPool::kNoStream, alignment), UsageError);
  }
}

TEST_F(Pool, RefusesToFreeMemoryThatIsNotItsBlockInUse) {
  PinnedPool memory = pool(small_regions());
  auto* block = static_cast<std::byte*>(memory.allocate(1000));
  int local = 0;
  EXPECT_THROW(memory.allocate(0), UsageError);
  EXPECT_THROW(memory.free(nullptr), UsageError);
  EXPECT_THROW(memory.free(&local), UsageError);
  EXPECT_THROW(memory.free(block + 64), UsageError) << "not its beginning";
  PinnedPool other = pool(small_regions());
  EXPECT_THROW(other.free(block), UsageError);
  memory.free(block);
  EXPECT_THROW(memory.free(block), UsageError) << "freed twice";
}

TEST_F(Pool, NeedsADeviceThatExistsAndRegionsWithinAPiece) {
  EXPECT_THROW(PinnedPool(driver(), 99), UsageError);
  PinnedPoolOptions options;
  options.region_bytes = options.pin.max_piece_bytes + 1;
  EXPECT_THROW(PinnedPool(driver(), 0, options), UsageError);
}

TEST_F(Pool, StaysBelowItsCapAndSaysSo) {
  PinnedPool memory = pool(capped(10 * kMiB));
  void* first = memory.allocate(6 * kMiB);
  const std::string message = message_of<Unavailable>([&] { memory.allocate(6 * kMiB); });
  EXPECT_TRUE(says(message, "may pin 10485760 bytes")) << message;
  EXPECT_TRUE(says(message, "fewer or smaller arrays at a time")) << message;
  EXPECT_EQ(memory.stats().pinned_bytes, 6 * kMiB);
  EXPECT_NO_THROW(memory.free(memory.allocate(kMiB))) << "what fits is given still";
  memory.free(first);
  EXPECT_NO_THROW(memory.allocate(8 * kMiB)) << "unused regions make room";
  EXPECT_LE(memory.stats().peak_pinned_bytes, 10 * kMiB);
}

TEST_F(Pool, WithACapBelowARegionPinsLess) {
  PinnedPool memory = pool(capped(kMiB));
  EXPECT_NO_THROW(memory.allocate(100 * kKiB));
  EXPECT_LE(memory.stats().pinned_bytes, kMiB);
}

TEST_F(Pool, OfAnAbsurdSizeIsUnavailableAndHarmless) {
  PinnedPool memory = pool(small_regions());
  for (const unsigned power : {45U, 57U, 63U}) {
    EXPECT_THROW(memory.allocate(std::size_t{1} << power), Unavailable);
  }
  EXPECT_THROW(memory.allocate(~std::size_t{0}), Unavailable);
  EXPECT_EQ(memory.stats().pinned_bytes, 0u);
  EXPECT_NO_THROW(memory.allocate(100));
}

TEST_F(Pool, TrimsWhatNobodyUses) {
  PinnedPool memory = pool(small_regions());
  void* kept = memory.allocate(100);
  void* first = memory.allocate(6 * kMiB);
  void* second = memory.allocate(8 * kMiB);
  memory.free(first);
  memory.free(second);
  memory.trim(100 * kMiB);
  EXPECT_EQ(memory.stats().num_unpins, 0u);
  memory.trim(13 * kMiB);
  EXPECT_EQ(memory.stats().num_unpins, 1u);
  EXPECT_LE(memory.stats().pinned_bytes, 13 * kMiB);
  memory.trim();
  EXPECT_EQ(memory.stats().pinned_bytes, 4 * kMiB) << "a block of it is in use";
  memory.free(kept);
  memory.trim();
  EXPECT_EQ(memory.stats().pinned_bytes, 0u);
  EXPECT_EQ(memory.stats().num_unpins, 3u);
}

TEST_F(Pool, GivesEverythingBackAtTheEnd) {
  if (!emulated()) GTEST_SKIP() << "counts what only the emulated driver tells";
  const auto before = controls().live();
  const CUstream work = stream();
  {
    PinnedPool memory = pool(small_regions());
    memory.allocate(100);
    memory.free(memory.allocate(9 * kMiB));
    memory.free(memory.allocate(1000), reinterpret_cast<std::uintptr_t>(work));
  }
  auto after = controls().live();
  after.streams = before.streams;
  EXPECT_EQ(after, before);
}

TEST_F(Pool, IsAsItWasAfterAnyFailedRegistration) {
  if (!emulated()) GTEST_SKIP() << "makes calls fail";
  PinnedPool memory = pool(small_regions());
  void* kept = memory.allocate(100);
  const PinnedPoolStats before = memory.stats();
  for (const CUresult code : {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_ILLEGAL_ADDRESS}) {
    controls().fail_call("cuMemHostRegister", 1, code);
    EXPECT_ANY_THROW(memory.allocate(9 * kMiB));
    EXPECT_EQ(memory.stats().pinned_bytes, before.pinned_bytes);
    EXPECT_EQ(memory.stats().used_bytes, before.used_bytes);
    EXPECT_EQ(memory.stats().num_allocations, before.num_allocations);
  }
  EXPECT_NO_THROW(memory.allocate(9 * kMiB));
  EXPECT_NO_THROW(memory.free(kept));
}

TEST_F(Pool, GivesUpUnusedRegionsBeforeItGivesUp) {
  if (!emulated()) GTEST_SKIP() << "makes calls fail";
  PinnedPool memory = pool(small_regions());
  memory.free(memory.allocate(20 * kMiB));
  controls().fail_call("cuMemHostRegister", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_NO_THROW(memory.allocate(9 * kMiB));
  EXPECT_EQ(memory.stats().num_unpins, 1u);
}

TEST_F(Pool, IsAsItWasAfterAnInterruption) {
  PinnedPoolOptions options = small_regions();
  bool interrupting = true;
  options.pin.interrupted = [&] { return interrupting; };
  PinnedPool memory = pool(options);
  EXPECT_THROW(memory.allocate(100), Interrupted);
  EXPECT_THROW(memory.allocate(9 * kMiB), Interrupted);
  EXPECT_EQ(memory.stats().pinned_bytes, 0u);
  interrupting = false;
  EXPECT_NO_THROW(memory.allocate(100));
}

TEST_F(Pool, MakesNoDriverCallForABlockThatIsFree) {
  if (!emulated()) GTEST_SKIP() << "reads the emulated driver's log";
  PinnedPool memory = pool(small_regions());
  memory.free(memory.allocate(1000));
  controls().log_calls(1);
  memory.free(memory.allocate(1000));
  controls().log_calls(0);
  EXPECT_EQ(controls().call_log(), "");
}

TEST_F(Pool, CountsBytesAndTime) {
  PinnedPool memory = pool(small_regions());
  void* first = memory.allocate(1000);
  void* second = memory.allocate(9 * kMiB);
  PinnedPoolStats stats = memory.stats();
  EXPECT_EQ(stats.num_allocations, 2u);
  EXPECT_EQ(stats.num_pins, 2u);
  EXPECT_EQ(stats.requested_bytes, 1000 + 9 * kMiB);
  EXPECT_EQ(stats.used_bytes, 1024 + 10 * kMiB);
  EXPECT_EQ(stats.pinned_bytes, 14 * kMiB);
  EXPECT_GT(stats.pin_seconds, 0);
  EXPECT_GE(stats.allocate_seconds, stats.pin_seconds);
  memory.free(first);
  memory.free(second);
  memory.trim();
  stats = memory.stats();
  EXPECT_EQ(stats.requested_bytes, 0u);
  EXPECT_EQ(stats.used_bytes, 0u);
  EXPECT_EQ(stats.pinned_bytes, 0u);
  EXPECT_EQ(stats.peak_pinned_bytes, 14 * kMiB);
  EXPECT_EQ(stats.num_pins, stats.num_unpins);
  EXPECT_GT(stats.free_seconds, 0);
  EXPECT_GT(stats.unpin_seconds, 0);
}

TEST_F(Pool, SharesEverythingWithItsCopies) {
  PinnedPool memory = pool(small_regions());
  PinnedPool copy = memory;
  void* block = memory.allocate(1000);
  EXPECT_TRUE(copy.same_pool(memory));
  EXPECT_EQ(copy.stats().requested_bytes, 1000u);
  EXPECT_NO_THROW(copy.free(block));
  EXPECT_FALSE(memory.same_pool(pool(small_regions())));
}

/// Allocates, fills, checks and frees; every block belongs to one thread at a time.
void use_pool(PinnedPool memory, unsigned seed, int num_operations, std::atomic<int>& num_wrong) {
  std::mt19937_64 generator(seed);
  struct Held {
    std::uint8_t* data;
    std::size_t size_bytes;
  };
  std::vector<Held> held;
  const auto mark = static_cast<std::uint8_t>(seed);
  for (int i = 0; i < num_operations; ++i) {
    if (held.size() < 20 && generator() % 2 == 0) {
      const std::size_t size_bytes = 1 + generator() % (std::size_t{64} << (generator() % 9));
      auto* data = static_cast<std::uint8_t*>(memory.allocate(size_bytes));
      std::memset(data, mark, size_bytes);
      held.push_back({data, size_bytes});
    } else if (!held.empty()) {
      std::swap(held[generator() % held.size()], held.back());
      const Held last = held.back();
      held.pop_back();
      const auto ours = std::count(last.data, last.data + last.size_bytes, mark);
      if (static_cast<std::size_t>(ours) != last.size_bytes) ++num_wrong;
      memory.free(last.data);
    }
  }
  for (const Held& each : held) memory.free(each.data);
}

TEST_F(Pool, ServesSixtyFourThreadsAtOnce) {
  PinnedPool memory = pool(small_regions());
  std::atomic<int> num_wrong{0};
  std::vector<std::thread> threads;
  for (unsigned i = 1; i <= 64; ++i) {
    threads.emplace_back([&, i] { use_pool(memory, i, 1000, num_wrong); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_wrong.load(), 0);
  const PinnedPoolStats stats = memory.stats();
  EXPECT_EQ(stats.used_bytes, 0u);
  EXPECT_EQ(stats.requested_bytes, 0u);
  memory.trim();
  EXPECT_EQ(memory.stats().pinned_bytes, 0u) << "a block was lost";
}

TEST_F(Pool, ThreadsThatAllLackMemoryPinOneRegion) {
  PinnedPool memory = pool(small_regions());
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) threads.emplace_back([&] { memory.allocate(100 * kKiB); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory.stats().num_pins, 1u);
}

TEST_F(Pool, IsRefusedInAForkedChildAndWholeInTheParent) {
  PinnedPool memory = pool(small_regions());
  void* block = memory.allocate(1000);
  const auto refused = [&](auto action) {
    return !message_of<UsageError>([&] { action(memory); }).empty();
  };
  EXPECT_TRUE(holds_in_child([&] {
    return refused([](PinnedPool& p) { p.allocate(10); }) &&
           refused([&](PinnedPool& p) { p.free(block); }) &&
           refused([](PinnedPool& p) { p.trim(); }) &&
           refused([](PinnedPool& p) { (void)p.stats(); }) &&
           refused([&](PinnedPool& p) { (void)p.contains(block, 1); });
  }));
  EXPECT_NO_THROW(memory.free(block));
}

TEST_F(Pool, CanEndInAForkedChildEvenIfAnotherThreadHeldItsLock) {
  std::optional<PinnedPool> memory(pool(small_regions()));
  std::atomic<bool> ending{false};
  std::thread busy([&, copy = *memory]() mutable {
    while (!ending.load()) copy.free(copy.allocate(1000));
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(holds_in_child([&] {
      const bool refused = !message_of<UsageError>([&] { (void)memory->stats(); }).empty();
      memory.reset();
      return refused;
    }));
  }
  ending.store(true);
  busy.join();
  EXPECT_NO_THROW(memory->allocate(1000));
}

}  // namespace
}  // namespace isthmus::transfer
