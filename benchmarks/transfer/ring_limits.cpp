// How soon can pageable memory be on the device? What the threads take to copy it into pinned slots,
// what the link takes, both at once and one after the other, beside the staging ring, as JSON.
//
//   ring_limits [OPTION=LIST]...     ring_limits size_mib=64 threads=14 pause_us=0,3000
//
// OPTION     default
// size_mib   64,256,1024
// threads    6,10,14         that fill, including the caller's; the ring uses as many
// pause_us   0,3000          of the calling thread, asleep, before each measurement
// stores     demoted         plain, fetched, streaming, demoted: how slots are filled
// rounds     9               all ways take turns; the medians count
//
// way        what
// link       the driver's blocking copy from pinned memory
// fill       the threads copy pageable memory into other pinned memory; the link is idle. Then the
//            driver copies that memory, 64 MiB at most, in `filled_seconds`: what the link takes if
//            the lines are where the threads have left them
// both       the same, begun at the same moment as a copy from pinned memory. `fill_seconds` and
//            `link_seconds` are when each was done. No upload of pageable memory through pinned
//            memory is quicker than the later of the two, since each byte must take both ways
// ring       the staging ring's upload; `cpu_seconds`: of all threads of the process
//
// The threads fill 64 MiB of pinned memory again and again, in parts of 256 KiB; the ring's slots are
// as in any program. Without a pause the threads spin until the next measurement; before a pause of
// more than 100 us they fall asleep, as the ring's do. The device is the first one of
// $ISTHMUS_DRIVER.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "host/cpu/clock.hpp"
#include "host/cpu/patience.hpp"
#include "host/memory/pageable_buffer.hpp"
#include "host/memory/pattern.hpp"
#include "options.hpp"
#include "rounds.hpp"
#include "rows.hpp"
#include "slot_stores.hpp"
#include "transfer/staging/host_copy.hpp"
#include "transfer/staging/staging_ring.hpp"

namespace {

using isthmus::host::steady_ns;
using isthmus::transfer::StagingRing;

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kPartBytes = kMiB / 4;
constexpr std::size_t kSlotsBytes = 64 * kMiB;
constexpr std::int64_t kSpinNs = 100'000;

double seconds_since(std::int64_t begun_ns) {
  return static_cast<double>(steady_ns() - begun_ns) * 1e-9;
}

const Options kDefaults{{"size_mib", {"64", "256", "1024"}},
                        {"threads", {"6", "10", "14"}},
                        {"pause_us", {"0", "3000"}},
                        {"stores", {"demoted"}},
                        {"rounds", {"9"}}};

/// Threads that fill pinned slots together. The caller is one of them.
class Fillers {
public:
  Fillers(std::size_t num_threads, std::byte* slots, SlotStores stores)
      : slots_(slots), stores_(stores) {
    for (std::size_t i = 1; i < num_threads; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Fillers() {
    is_over_ = true;
    begin();
    for (std::thread& thread : threads_) thread.join();
  }
  Fillers(const Fillers&) = delete;
  Fillers& operator=(const Fillers&) = delete;

  void fill(const std::byte* source, std::size_t size_bytes) {
    source_ = source;
    num_parts_ = size_bytes / kPartBytes;
    next_part_ = 0;
    num_done_ = 0;
    begin();
    copy_parts();
    while (num_done_ < num_parts_) isthmus::host::pause_briefly();
  }

private:
  void begin() {
    turn_.fetch_add(1);
    turn_.notify_all();
  }
  void work() {
    for (std::uint32_t seen = 0;;) {
      const std::int64_t begun_ns = steady_ns();
      while (turn_ == seen && steady_ns() - begun_ns < kSpinNs) continue;
      turn_.wait(seen);
      ++seen;
      if (is_over_) return;
      copy_parts();
    }
  }
  void copy_parts() {
    for (std::size_t part = next_part_++; part < num_parts_; part = next_part_++) {
      const std::size_t first = part * kPartBytes;
      copy_by(stores_, slots_ + first % kSlotsBytes, source_ + first, kPartBytes);
      ++num_done_;
    }
  }

  std::byte* slots_;
  SlotStores stores_;
  const std::byte* source_ = nullptr;
  std::size_t num_parts_ = 0;
  std::atomic<std::size_t> next_part_{0};
  std::atomic<std::size_t> num_done_{0};
  std::atomic<std::uint32_t> turn_{0};
  std::atomic<bool> is_over_{false};
  std::vector<std::thread> threads_;
};

/// Times of one way: the whole, the CPU time of all threads, a copy of what was filled, and the halves
/// of `both`.
struct Found {
  std::vector<double> seconds;
  std::vector<double> cpu_seconds;
  std::vector<double> filled_seconds;
  std::vector<double> fill_seconds;
  std::vector<double> link_seconds;
};

/// What is measured at once.
struct Case {
  std::size_t size_bytes;
  std::size_t num_threads;
  std::chrono::microseconds pause;
  SlotStores stores;
};

class Bench {
public:
  explicit Bench(std::size_t max_bytes)
      : context_(isthmus::Context::retain(isthmus::Driver::open(), 0)),
        current_(context_),
        stream_(context_),
        device_(context_, max_bytes),
        pageable_(max_bytes),
        pinned_(context_, max_bytes),
        slots_(context_, kSlotsBytes) {
    isthmus::host::fill_pattern(pageable_.data(), max_bytes, 1);
    isthmus::host::fill_pattern(pinned_.data(), max_bytes, 1);
  }

  bool emulated() const { return context_.driver().emulated(); }
  std::vector<Row> measure(const Case& of, std::size_t num_rounds);

private:
  void copy_pinned(const isthmus::PinnedBuffer& from, std::size_t size_bytes) {
    context_.driver().call(isthmus::symbol::memcpy_htod)(device_.pointer(), from.data(),
                                                         size_bytes);
  }
  void fill_beside_link(Fillers& fillers, std::size_t size_bytes, Found& found);

  isthmus::Context context_;
  isthmus::CurrentContext current_;
  isthmus::Stream stream_;
  isthmus::DeviceBuffer device_;
  isthmus::host::PageableBuffer pageable_;
  isthmus::PinnedBuffer pinned_;
  isthmus::PinnedBuffer slots_;
};

void Bench::fill_beside_link(Fillers& fillers, std::size_t size_bytes, Found& found) {
  const std::int64_t begun_ns = steady_ns();
  context_.driver().call(isthmus::symbol::memcpy_htod_async)(device_.pointer(), pinned_.data(),
                                                             size_bytes, stream_.handle());
  double link_seconds = 0;
  std::thread waiting([&] {
    const isthmus::CurrentContext current(context_);
    stream_.synchronize();
    link_seconds = seconds_since(begun_ns);
  });
  fillers.fill(pageable_.data(), size_bytes);
  found.fill_seconds.push_back(seconds_since(begun_ns));
  waiting.join();
  found.link_seconds.push_back(link_seconds);
  found.seconds.push_back(std::max(link_seconds, found.fill_seconds.back()));
}

std::vector<Row> rows_of(const std::map<std::string, Found>& all, const Case& of) {
  const double link = median(all.at("link").seconds);
  std::vector<Row> rows;
  for (const auto& [name, found] : all) {
    Row row;
    row.add("way", name)
        .add("bytes", of.size_bytes)
        .add("threads", of.num_threads)
        .add("pause_us", static_cast<std::size_t>(of.pause.count()))
        .add("stores", name_of(of.stores))
        .add("seconds", median(found.seconds))
        .add("of_pinned", link / median(found.seconds));
    if (!found.cpu_seconds.empty()) row.add("cpu_seconds", median(found.cpu_seconds));
    if (!found.filled_seconds.empty()) row.add("filled_seconds", median(found.filled_seconds));
    if (name == "both")
      row.add("fill_seconds", median(found.fill_seconds))
          .add("link_seconds", median(found.link_seconds));
    rows.push_back(row);
  }
  return rows;
}

std::vector<Row> Bench::measure(const Case& of, std::size_t num_rounds) {
  isthmus::transfer::RingSettings settings;
  settings.num_threads = static_cast<int>(of.num_threads);
  settings.stores = of.stores;
  StagingRing ring(context_, settings);
  Fillers fillers(of.num_threads, slots_.data(), of.stores);
  const std::size_t size_bytes = of.size_bytes;
  const std::map<std::string, std::function<void()>> ways{
      {"link", [&] { copy_pinned(pinned_, size_bytes); }},
      {"fill", [&] { fillers.fill(pageable_.data(), size_bytes); }},
      {"ring", [&] { ring.upload(device_.pointer(), pageable_.data(), size_bytes, nullptr); }}};
  std::map<std::string, Found> all;
  for (std::size_t round = 0; round <= num_rounds; ++round) {
    for (const auto& [name, run] : ways) {
      run();  // so that its threads are awake if there is no pause
      std::this_thread::sleep_for(of.pause);
      Found& found = all[name];
      const std::clock_t begun = std::clock();
      found.seconds.push_back(seconds_of(run, 1));
      if (name == "ring")
        found.cpu_seconds.push_back(static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC);
      if (name == "fill")
        found.filled_seconds.push_back(
            seconds_of([&] { copy_pinned(slots_, std::min(size_bytes, kSlotsBytes)); }, 1));
    }
    fillers.fill(pageable_.data(), size_bytes);
    std::this_thread::sleep_for(of.pause);
    fill_beside_link(fillers, size_bytes, all["both"]);
    if (round == 0) all.clear();  // the warm-up
  }
  return rows_of(all, of);
}

void run(const Options& options) {
  Bench bench(std::ranges::max(numbers(options, "size_mib")) * kMiB);
  std::vector<Row> rows;
  for (const std::size_t size_mib : numbers(options, "size_mib"))
    for (const std::size_t pause_us : numbers(options, "pause_us"))
      for (const std::size_t num_threads : numbers(options, "threads"))
        for (const std::string& stores : options.at("stores")) {
          const Case of{size_mib * kMiB, num_threads, std::chrono::microseconds(pause_us),
                        stores_of(stores)};
          const auto found = bench.measure(of, numbers(options, "rounds").front());
          rows.insert(rows.end(), found.begin(), found.end());
        }
  print_rows(rows, bench.emulated());
}

}  // namespace

int main(int argc, char** argv) { return run_program(argc, argv, kDefaults, run); }
