// The cost of pinning host memory, step by step, as JSON: the driver's allocation beside
// PinnedRegion; touching, registering and their reverse by threads and pieces; copies from and to
// pinned memory; the pool's allocate and free.
//
//   pinning [MAX_MIB]
//
// MAX_MIB is the largest size, 1024 if not given; 4096 takes a minute more. The device is the
// first one of $ISTHMUS_DRIVER. Medians of rounds.
#include <cstdlib>
#include <iostream>
#include <thread>

#include <isthmus/pinned.hpp>

#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "host/cpu/cores.hpp"
#include "host/memory/first_touch.hpp"
#include "host/memory/huge_mapping.hpp"
#include "rounds.hpp"
#include "rows.hpp"
#include "transfer/pinned/pinned_region.hpp"

namespace {

using isthmus::PinnedPool;
using isthmus::PinOptions;
using isthmus::host::HugeMapping;
using isthmus::transfer::PinnedRegion;
namespace symbol = isthmus::symbol;

constexpr std::size_t kMib = std::size_t{1} << 20U;
constexpr std::size_t kGib = std::size_t{1} << 30U;
constexpr std::size_t kNumRounds = 7;
constexpr std::size_t kNumPooled = 100'000;
constexpr int kThreadCounts[] = {1, 2, 4, 8, 12, 15, 16};

/// Medians of several quantities, sampled together.
class Samples {
public:
  void add(const std::string& name, double seconds) {
    for (auto& [known, values] : values_) {
      if (known == name) return values.push_back(seconds);
    }
    values_.push_back({name, {seconds}});
  }
  void time(const std::string& name, const Task& task) { add(name, seconds_of(task, 1)); }
  Row& append_to(Row& row) const {
    for (const auto& [name, values] : values_) row.add(name, median(values));
    return row;
  }

private:
  std::vector<std::pair<std::string, std::vector<double>>> values_;
};

/// The driver's allocation and PinnedRegion, in turns.
Row new_memory(const isthmus::Context& context, std::size_t size_bytes) {
  Samples samples;
  bool huge_pages = false;
  for (std::size_t round = 0; round < (size_bytes > kGib ? 3 : kNumRounds); ++round) {
    std::optional<PinnedRegion> region;
    samples.time("pin_s", [&] { region.emplace(context, size_bytes); });
    samples.add("touch_s", region->costs().touch_seconds);
    samples.add("register_s", region->costs().register_seconds);
    huge_pages = region->costs().huge_pages;
    samples.time("unpin_s", [&] { region.reset(); });
    std::optional<isthmus::PinnedBuffer> buffer;
    samples.time("cuMemHostAlloc_s", [&] { buffer.emplace(context, size_bytes); });
    samples.time("cuMemFreeHost_s", [&] { buffer.reset(); });
  }
  Row row;
  row.add("bytes", size_bytes);
  return samples.append_to(row).add("huge_pages", huge_pages);
}

void register_part(const isthmus::Driver& driver, std::byte* memory, std::size_t size_bytes) {
  driver.call(symbol::mem_host_register)(
      memory, size_bytes, unsigned{CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP});
}

/// Runs `task(part)` in a thread for each part, with the context current.
void in_threads(const isthmus::Context& context, std::size_t num_threads,
                const std::function<void(std::size_t)>& task) {
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < num_threads; ++part) {
    threads.emplace_back([&, part] {
      const isthmus::CurrentContext current(context);
      task(part);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// One step after the other: touch with several threads, register in one piece, then undo both.
Row one_after_the_other(const isthmus::Context& context, std::size_t size_bytes, int num_threads) {
  const isthmus::Driver& driver = context.driver();
  const isthmus::CurrentContext current(context);
  Samples samples;
  for (std::size_t round = 0; round < kNumRounds; ++round) {
    std::optional<HugeMapping> memory;
    samples.time("map_s", [&] { memory.emplace(size_bytes); });
    samples.time("touch_s", [&] {
      isthmus::host::ParallelTouch(memory->data(), size_bytes, {num_threads, {}}).wait();
    });
    samples.time("register_s", [&] { register_part(driver, memory->data(), size_bytes); });
    samples.time("unregister_s", [&] { driver.call(symbol::mem_host_unregister)(memory->data()); });
    samples.time("drop_s", [&] { memory->drop_pages(num_threads); });
    samples.time("unmap_s", [&] { memory.reset(); });
  }
  Row row;
  row.add("bytes", size_bytes).add("threads", static_cast<std::size_t>(num_threads));
  return samples.append_to(row);
}

/// Touched memory, registered in as many parts as threads: shows what the driver serialises.
Row by_threads(const isthmus::Context& context, std::size_t size_bytes, std::size_t num_threads) {
  const isthmus::Driver& driver = context.driver();
  const std::size_t part_bytes = size_bytes / num_threads;
  Samples samples;
  for (std::size_t round = 0; round < kNumRounds; ++round) {
    HugeMapping memory(size_bytes);
    isthmus::host::ParallelTouch(memory.data(), size_bytes, {8, {}}).wait();
    samples.time("register_s", [&] {
      in_threads(context, num_threads, [&](std::size_t part) {
        register_part(driver, memory.data() + part * part_bytes, part_bytes);
      });
    });
    samples.time("unregister_s", [&] {
      in_threads(context, num_threads, [&](std::size_t part) {
        driver.call(symbol::mem_host_unregister)(memory.data() + part * part_bytes);
      });
    });
  }
  Row row;
  row.add("bytes", size_bytes).add("threads", num_threads);
  return samples.append_to(row);
}

/// PinnedRegion, by the number of touching threads and the size of pieces.
Row region_by(const isthmus::Context& context, std::size_t size_bytes, int num_threads,
              std::size_t piece_bytes) {
  PinOptions options;
  options.num_threads = num_threads;
  options.max_piece_bytes = piece_bytes;
  Samples samples;
  for (std::size_t round = 0; round < kNumRounds; ++round) {
    std::optional<PinnedRegion> region;
    samples.time("pin_s", [&] { region.emplace(context, size_bytes, options); });
    samples.add("touch_s", region->costs().touch_seconds);
    samples.add("register_s", region->costs().register_seconds);
    samples.time("unpin_s", [&] { region.reset(); });
  }
  Row row;
  row.add("bytes", size_bytes)
      .add("threads", static_cast<std::size_t>(num_threads))
      .add("piece_bytes", piece_bytes);
  return samples.append_to(row);
}

/// The driver's answer to a copy that crosses from one registration to the next, by name.
std::string copy_across_pieces(const isthmus::Context& context) {
  PinOptions options;
  options.max_piece_bytes = 2 * kMib;
  const PinnedRegion region(context, 4 * kMib, options);
  const isthmus::DeviceBuffer device(context, 4 * kMib);
  const isthmus::CurrentContext current(context);
  return context.driver().name_of(
      context.driver().raw(symbol::memcpy_htod)(device.pointer(), region.data(), 4 * kMib));
}

/// Copies from and to a PinnedRegion, and the driver's own pinned memory for comparison.
Row bandwidth(const isthmus::Context& context, std::size_t size_bytes) {
  const isthmus::Driver& driver = context.driver();
  const isthmus::DeviceBuffer device(context, size_bytes);
  const PinnedRegion region(context, size_bytes);
  const isthmus::PinnedBuffer buffer(context, size_bytes);
  const isthmus::Stream stream(context);
  const isthmus::CurrentContext current(context);
  const auto upload = [&](std::byte* memory) {
    return Task([&, memory] {
      driver.call(symbol::memcpy_htod_async)(device.pointer(), memory, size_bytes, stream.handle());
      stream.synchronize();
    });
  };
  const auto download = [&](std::byte* memory) {
    return Task([&, memory] {
      driver.call(symbol::memcpy_dtoh_async)(memory, device.pointer(), size_bytes, stream.handle());
      stream.synchronize();
    });
  };
  const std::vector<double> seconds = medians({upload(region.data()), upload(buffer.data()),
                                               download(region.data()), download(buffer.data())});
  const auto bytes = static_cast<double>(size_bytes);
  return Row()
      .add("bytes", size_bytes)
      .add("upload_region_bytes_per_s", bytes / seconds[0])
      .add("upload_cuMemHostAlloc_bytes_per_s", bytes / seconds[1])
      .add("download_region_bytes_per_s", bytes / seconds[2])
      .add("download_cuMemHostAlloc_bytes_per_s", bytes / seconds[3]);
}

/// An allocate and a free in a pool with free memory, in several threads at once.
Row pooled(const isthmus::Context& context, std::size_t size_bytes, std::size_t num_threads,
           bool in_stream) {
  PinnedPool pool(context.driver(), context.device().ordinal);
  const isthmus::Stream stream(context);
  const std::uintptr_t handle =
      in_stream ? reinterpret_cast<std::uintptr_t>(stream.handle()) : PinnedPool::kNoStream;
  std::vector<void*> warm;
  for (std::size_t i = 0; i < num_threads; ++i) warm.push_back(pool.allocate(size_bytes));
  for (void* block : warm) pool.free(block);
  const std::size_t num_pairs = in_stream ? kNumPooled / 10 : kNumPooled;
  Samples samples;
  for (std::size_t round = 0; round < kNumRounds; ++round) {
    const double seconds = seconds_of(
        [&] {
          in_threads(context, num_threads, [&](std::size_t) {
            for (std::size_t i = 0; i < num_pairs; ++i) {
              pool.free(pool.allocate(size_bytes, handle), handle);
            }
          });
        },
        1);
    samples.add("allocate_and_free_s", seconds / static_cast<double>(num_pairs));
  }
  Row row;
  row.add("bytes", size_bytes).add("threads", num_threads).add("in_stream", in_stream);
  return samples.append_to(row);
}

std::vector<Row> steps(const isthmus::Context& context, std::size_t size_bytes) {
  std::vector<Row> rows;
  for (const int num_threads : kThreadCounts) {
    rows.push_back(one_after_the_other(context, size_bytes, num_threads));
  }
  return rows;
}

std::vector<Row> regions(const isthmus::Context& context, std::size_t size_bytes) {
  std::vector<Row> rows;
  for (const int num_threads : kThreadCounts) {
    rows.push_back(region_by(context, size_bytes, num_threads, kGib));
  }
  for (const std::size_t mebibytes : {32, 64, 128, 256, 512}) {
    rows.push_back(region_by(context, size_bytes, 15, mebibytes * kMib));
  }
  return rows;
}

std::vector<Row> all_pooled(const isthmus::Context& context) {
  std::vector<Row> rows;
  for (const std::size_t num_threads : {1, 16}) {
    for (const std::size_t size_bytes : {std::size_t{64}, std::size_t{4096}, kMib, 40 * kMib}) {
      rows.push_back(pooled(context, size_bytes, num_threads, false));
    }
    rows.push_back(pooled(context, 4096, num_threads, true));
  }
  return rows;
}

void print(const isthmus::Context& context, std::size_t max_bytes) {
  std::vector<Row> fresh;
  for (std::size_t size_bytes = 4096; size_bytes <= max_bytes; size_bytes *= 4) {
    fresh.push_back(new_memory(context, size_bytes));
  }
  const std::size_t large_bytes = std::min(kGib, max_bytes);
  std::vector<Row> threads;
  for (const std::size_t num_threads : {1, 2, 4}) {
    threads.push_back(by_threads(context, large_bytes, num_threads));
  }
  std::cout << "{\n  \"device\": \"" << context.device().name
            << "\",\n  \"cores\": " << isthmus::host::effective_cores()
            << ",\n  \"copy_across_pieces\": \"" << copy_across_pieces(context)
            << "\",\n  \"new\": " << list(fresh)
            << ",\n  \"one_after_the_other\": " << list(steps(context, large_bytes))
            << ",\n  \"regions\": " << list(regions(context, large_bytes))
            << ",\n  \"registered_by_threads\": " << list(threads)
            << ",\n  \"bandwidth\": " << list({bandwidth(context, large_bytes)})
            << ",\n  \"pooled\": " << list(all_pooled(context)) << "\n}\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::size_t max_mib = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1024;
    if (argc > 2 || max_mib < 1) {
      std::cerr << "usage: pinning [MAX_MIB]\n";
      return 2;
    }
    const isthmus::Driver driver = isthmus::Driver::open();
    print(isthmus::Context::retain(driver, 0), max_mib * kMib);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
