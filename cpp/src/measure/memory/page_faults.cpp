
#include <cstring>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "measure/loops/sampling.hpp"
#include "measure/memory/managed_memory.hpp"

namespace isthmus::measure {
namespace {

// The largest block that a driver migrates at once.
constexpr std::size_t kStrideBytes = page_fault_bytes(1);
constexpr std::size_t kFewestPages = 2;
constexpr std::size_t kMaxPages = 256;

/// The result of following a chain: the sum of its links, and where it ended.
struct Reached {
  std::uint64_t sum = 0;
  std::uint64_t last = 0;
  bool operator==(const Reached&) const = default;
};

std::size_t checked(std::size_t num_pages) {
  if (num_pages >= kFewestPages && num_pages <= kMaxPages) return num_pages;
  throw UsageError("page faults are measured with 2 to 256 pages, not " +
                   std::to_string(num_pages));
}

/// A chain through managed memory, followed by either side.
class FaultLoop {
public:
  FaultLoop(const Context& context, const Kernels& kernels, const PageFaultOptions& options)
      : context_(context),
        kernel_(kernels.get("pointer_chase", "isthmus_pointer_chase")),
        num_pages_(checked(options.num_pages)),
        memory_(context, page_fault_bytes(num_pages_)),
        answer_(context, sizeof(Reached)),
        stream_(context),
        begin_(context),
        end_(context) {}

  /// The CPU writes the chain, so that its pages are on the host; then the device faults them in
  /// one by one.
  double device_fault() {
    tie();
    context_.driver().call(symbol::memset_d8_async)(
        answer_.pointer(), static_cast<unsigned char>(0), answer_.size_bytes(), stream_.handle());
    begin_.record(stream_.handle());
    kernel_.launch(stream_.handle(), 1, 1, first(), static_cast<unsigned long long>(num_pages_),
                   answer_.pointer());
    end_.record(stream_.handle());
    end_.synchronize();
    Reached reached;
    context_.driver().call(symbol::memcpy_dtoh)(&reached, answer_.pointer(), sizeof reached);
    check(reached);
    return elapsed_seconds(context_, begin_, end_) / static_cast<double>(num_pages_);
  }

  /// The CPU faults back the pages that the device has just fetched.
  double host_fault() {
    device_fault();
    Reached reached{0, first()};
    const auto start = Clock::now();
    for (std::size_t i = 0; i < num_pages_; ++i) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): managed memory has one address on both sides
      reached.last = *reinterpret_cast<const volatile std::uint64_t*>(reached.last);
      reached.sum += reached.last;
    }
    const double seconds = seconds_since(start);
    check(reached);
    return seconds / static_cast<double>(num_pages_);
  }

private:
  unsigned long long first() const { return memory_.device(); }

  void tie() {
    expected_ = {0, first()};
    for (std::size_t i = 0; i < num_pages_; ++i) {
      const std::uint64_t next = first() + (i + 1) % num_pages_ * kStrideBytes;
      std::memcpy(memory_.host() + i * kStrideBytes, &next, sizeof next);
      expected_.sum += next;
    }
  }

  void check(const Reached& reached) const {
    if (reached == expected_) return;
    throw CorruptTransfer("verification failed: a chain through " + std::to_string(num_pages_) +
                          " pages of managed memory was not followed to its end");
  }

  Context context_;
  Kernel kernel_;
  std::size_t num_pages_;
  ManagedAllocation memory_;
  DeviceBuffer answer_;
  Stream stream_;
  Event begin_;
  Event end_;
  Reached expected_;
};

}  // namespace

Measurement measure_page_faults(const Context& context, const Kernels* kernels,
                                const PageFaultOptions& options) {
  require_concurrent_access(context);
  if (kernels == nullptr) {
    throw Unavailable("kernel that faults", "there is no NVRTC to compile it", "NVRTC");
  }
  const CurrentContext current(context);
  FaultLoop loop(context, *kernels, options);
  Measurement measurement;
  loop.device_fault();  // creates the device's page tables: slower than any other
  measurement.samples.push_back(sample(options.stopping, "device_fault", options.num_pages,
                                       [&] { return loop.device_fault(); }));
  measurement.samples.push_back(
      sample(options.stopping, "host_fault", options.num_pages, [&] { return loop.host_fault(); }));
  return measurement;
}

}  // namespace isthmus::measure
