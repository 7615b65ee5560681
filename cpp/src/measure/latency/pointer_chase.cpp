#include "measure/latency/latency.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "host/cpu/topology.hpp"
#include "host/memory/pattern.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

// A GPU's cache line; nvbandwidth's chain has the same stride.
constexpr std::size_t kLineBytes = 128;
constexpr std::size_t kMinLines = 16;
constexpr std::uint64_t kSeed = 0x6c696e6b;

PinnedBuffer allocate(const Context& context, const PointerChaseOptions& options) {
  if (options.size_bytes < kMinLines * kLineBytes) {
    throw UsageError("a pointer chase needs at least " + std::to_string(kMinLines * kLineBytes) +
                     " bytes, not " + std::to_string(options.size_bytes));
  }
  std::optional<host::ScopedMemoryPolicy> policy;
  if (options.numa_node) policy.emplace(*options.numa_node);
  return PinnedBuffer(context, options.size_bytes / kLineBytes * kLineBytes);
}

/// The lines in the order of the visits; the first line stays first.
std::vector<std::size_t> order_of(std::size_t num_lines, ChaseOrder order) {
  std::vector<std::size_t> lines(num_lines);
  std::iota(lines.begin(), lines.end(), std::size_t{0});
  if (order == ChaseOrder::strided) return lines;
  for (std::size_t i = num_lines - 1; i > 1; --i) {
    const std::size_t other = 1 + host::pattern_word(kSeed, i) % i;
    std::swap(lines[i], lines[other]);
  }
  return lines;
}

/// The chain in host memory, and the kernel that follows it once round.
class Chase {
public:
  Chase(const Context& context, const Kernels& kernels, const PointerChaseOptions& options)
      : context_(context),
        kernel_(kernels.get("pointer_chase", "isthmus_pointer_chase")),
        chain_(allocate(context, options)),
        answer_(context, sizeof(std::uint64_t) * 2),
        stream_(context),
        begin_(context),
        end_(context),
        first_(chain_.device_pointer()) {
    tie(order_of(num_links(), options.order));
  }

  std::size_t num_links() const { return chain_.size_bytes() / kLineBytes; }

  /// Seconds for a round, by the device's clock. Sets `host_seconds` to the time by the CPU's
  /// clock, including launch and wait.
  double round(double* host_seconds = nullptr) {
    const auto start = Clock::now();
    forget_answer();
    begin_.record(stream_.handle());
    kernel_.launch(stream_.handle(), 1, 1, static_cast<unsigned long long>(first_),
                   static_cast<unsigned long long>(num_links()), answer_.pointer());
    end_.record(stream_.handle());
    end_.synchronize();
    if (host_seconds != nullptr) *host_seconds = seconds_since(start);
    check_answer();
    return elapsed_seconds(context_, begin_, end_);
  }

private:
  void tie(const std::vector<std::size_t>& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::uint64_t next = first_ + lines[(i + 1) % lines.size()] * kLineBytes;
      std::memcpy(chain_.data() + lines[i] * kLineBytes, &next, sizeof next);
      sum_ += next;
    }
  }

  void forget_answer() const {
    context_.driver().call(symbol::memset_d8_async)(
        answer_.pointer(), static_cast<unsigned char>(0), answer_.size_bytes(), stream_.handle());
  }

  /// A round ends where it began, and has summed every link.
  void check_answer() const {
    std::array<std::uint64_t, 2> answer{};
    context_.driver().call(symbol::memcpy_dtoh)(answer.data(), answer_.pointer(), sizeof answer);
    if (answer == std::array<std::uint64_t, 2>{sum_, first_}) return;
    throw CorruptTransfer("verification failed: a pointer chase through " +
                          std::to_string(num_links()) + " lines did not visit each of them once");
  }

  Context context_;
  Kernel kernel_;
  PinnedBuffer chain_;
  DeviceBuffer answer_;
  Stream stream_;
  Event begin_;
  Event end_;
  CUdeviceptr first_;
  std::uint64_t sum_ = 0;
};

}  // namespace

Measurement measure_pointer_chase(const Context& context, const Kernels* kernels,
                                  const PointerChaseOptions& options) {
  if (kernels == nullptr) {
    throw Unavailable("pointer-chasing kernel", "there is no NVRTC to compile it", "NVRTC");
  }
  const CurrentContext current(context);
  Chase chase(context, *kernels, options);
  Measurement measurement;
  chase.round(&measurement.first_call_seconds);
  const auto num_links = static_cast<double>(chase.num_links());
  measurement.first_call_seconds /= num_links;
  measurement.samples.push_back(sample(options.stopping, "access_latency", chase.num_links(),
                                       [&] { return chase.round() / num_links; }));
  return measurement;
}

}  // namespace isthmus::measure
