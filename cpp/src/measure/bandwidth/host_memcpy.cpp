#include "measure/bandwidth/host_memcpy.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include <isthmus/errors.hpp>

#include "host/cpu/cpu_list.hpp"
#include "host/cpu/topology.hpp"
#include "host/memory/huge_mapping.hpp"
#include "host/memory/pages.hpp"
#include "measure/loops/host_buffer.hpp"
#include "measure/loops/sampling.hpp"
#include "transfer/staging/host_copy.hpp"

namespace isthmus::measure {
namespace {

// The pauses take about 50 us, longer than the workers' start differs. After them a thread yields,
// since there may be more threads than cores. It never sleeps, since the wake-up would be measured.
constexpr host::SpinLimits kSpinLimits{2000, std::chrono::hours{24}};

std::size_t checked(int num_threads) {
  if (num_threads >= 1) return static_cast<std::size_t>(num_threads);
  throw UsageError("threads that copy: needs at least 1, got " + std::to_string(num_threads));
}

std::vector<int> usable_cpus(std::optional<int> node) {
  if (!node) return host::allowed_cpus();
  return host::ScopedThreadBinding(*node).cpus();
}

}  // namespace

CopyWorkers::CopyWorkers(int num_threads, std::optional<int> node) {
  const std::size_t wanted = checked(num_threads);
  const std::vector<int> cpus = usable_cpus(node);
  while (workers_.size() + 1 < wanted)
    workers_.push_back(std::make_unique<host::SpinningWorker<Part>>("isthmus-copy", cpus));
}

double CopyWorkers::run(const std::function<void(std::size_t)>& part) {
  part_ = &part;
  num_ready_.store(0, std::memory_order_relaxed);
  started_.store(false, std::memory_order_relaxed);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->post({this, i + 1});
    workers_[i]->wake();
  }
  host::wait_until([&] { return num_ready_.load(std::memory_order_acquire) == workers_.size(); },
                   kSpinLimits);
  const auto start = Clock::now();
  started_.store(true, std::memory_order_release);
  part(0);
  for (const auto& worker : workers_) worker->wait(kSpinLimits);
  return seconds_since(start);
}

void CopyWorkers::Part::operator()() const {
  all->num_ready_.fetch_add(1, std::memory_order_release);
  host::wait_until([this] { return all->started_.load(std::memory_order_acquire); }, kSpinLimits);
  (*all->part_)(index);
}

namespace {

constexpr int kPoison = 0xA5;
// Much longer than the microsecond that the threads' common start may take.
constexpr double kSampleSeconds = 1e-3;
// For several threads. In a virtual machine a CPU may be descheduled for some milliseconds while
// all spin, and would dominate a shorter sample (seen on an H100's host with 16 CPUs).
constexpr double kSharedSampleSeconds = 20e-3;
constexpr int kTrials = 5;
constexpr std::size_t kMaxCopies = 100000;
// Less than a tenth of the size from which any libc bypasses the caches, and takes much longer than
// a call.
constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;

void copy_by_libc(std::byte* target, const std::byte* source, std::size_t size_bytes) {
  std::memcpy(target, source, size_bytes);
}

void copy_cached(std::byte* target, const std::byte* source, std::size_t size_bytes) {
  for (std::size_t done = 0; done < size_bytes; done += kPieceBytes)
    std::memcpy(target + done, source + done, std::min(kPieceBytes, size_bytes - done));
}

void copy_streaming(std::byte* target, const std::byte* source, std::size_t size_bytes) {
  transfer::copy_streaming(target, source, size_bytes);
}

/// Allocates memory with its pages on a node.
host::PageableBuffer allocate(std::size_t size_bytes, std::optional<int> node) {
  std::optional<host::ScopedMemoryPolicy> policy;
  if (node) policy.emplace(*node);
  host::PageableBuffer buffer(size_bytes);
  std::memset(buffer.data(), kPoison, size_bytes);
  return buffer;
}

HostCopy host_copy_by(HostStores stores) noexcept {
  switch (stores) {
    case HostStores::cached:
      return copy_cached;
    case HostStores::streaming:
      return copy_streaming;
    default:
      return copy_by_libc;
  }
}

class MemcpyLoop {
public:
  explicit MemcpyLoop(const HostMemcpyOptions& options)
      : options_(options),
        copy_(options.copy == nullptr ? host_copy_by(options.stores) : options.copy),
        source_(allocate(options.size_bytes, options.source_node)),
        target_(allocate(options.size_bytes, options.target_node)),
        contents_(Contents::random),
        workers_(static_cast<int>(std::min<std::size_t>(
                     static_cast<std::size_t>(options.num_threads), num_pages(options.size_bytes))),
                 options.source_node) {
    contents_.fill(source_.data(), options.size_bytes);
  }

  Measurement run() {
    Measurement measurement;
    measurement.first_call_seconds = seconds_of(1);
    const std::size_t num_copies = copies_of_a_sample();
    std::memset(target_.data(), kPoison, options_.size_bytes);
    measurement.samples.push_back(
        sample(options_.stopping, "copy_time", num_copies, [&] { return seconds_of(num_copies); }));
    measurement.verified_on = verify();
    measurement.host_pages_by_node = host::pages_by_node(target_.data(), options_.size_bytes);
    measurement.source_pages_by_node = host::pages_by_node(source_.data(), options_.size_bytes);
    return measurement;
  }

private:
  static std::size_t num_pages(std::size_t size_bytes) {
    return (size_bytes + host::page_bytes() - 1) / host::page_bytes();
  }
  /// Uses the fastest of several trials: the others may have waited for a thread.
  std::size_t copies_of_a_sample() {
    double one_copy_seconds = seconds_of(1);
    for (int i = 1; i < kTrials && one_copy_seconds < kSharedSampleSeconds; ++i)
      one_copy_seconds = std::min(one_copy_seconds, seconds_of(1));
    const double sample_seconds =
        workers_.num_threads() > 1 ? kSharedSampleSeconds : kSampleSeconds;
    return SampleSize{sample_seconds, kMaxCopies}.repetitions_of(one_copy_seconds);
  }

  /// Where a thread's share begins: at a page boundary.
  std::size_t begin_of(std::size_t index) const {
    const std::size_t pages = num_pages(options_.size_bytes) * index / workers_.num_threads();
    return std::min(pages * host::page_bytes(), options_.size_bytes);
  }

  /// Seconds for one copy, of `num_copies` back to back.
  double seconds_of(std::size_t num_copies) {
    const auto share = [&](std::size_t index) {
      const std::size_t begin = begin_of(index);
      const std::size_t size_bytes = begin_of(index + 1) - begin;
      for (std::size_t i = 0; i < num_copies; ++i) {
        copy_(target_.data() + begin, source_.data() + begin, size_bytes);
      }
    };
    return workers_.run(share) / static_cast<double>(num_copies);
  }

  VerifiedOn verify() const {
    if (!options_.stopping.verify) return VerifiedOn::nobody;
    const std::uint64_t wrong = contents_.count_mismatches(target_.data(), 0, options_.size_bytes);
    if (wrong == 0) return VerifiedOn::host;
    throw CorruptTransfer("verification failed: " + std::to_string(wrong) + " words of a " +
                          std::to_string(options_.size_bytes) +
                          "-byte copy within host memory are not what was sent");
  }

  const HostMemcpyOptions& options_;
  HostCopy copy_;
  host::PageableBuffer source_;
  host::PageableBuffer target_;
  BufferContents contents_;
  CopyWorkers workers_;
};

}  // namespace

Measurement measure_host_memcpy(const HostMemcpyOptions& options) {
  if (options.size_bytes == 0 || options.num_threads < 1) {
    throw UsageError("a copy within host memory needs bytes and threads");
  }
  std::optional<host::ScopedThreadBinding> binding;
  if (options.source_node) binding.emplace(*options.source_node);
  return MemcpyLoop(options).run();
}

}  // namespace isthmus::measure
