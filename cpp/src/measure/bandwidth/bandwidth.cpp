#include "measure/bandwidth/bandwidth.hpp"

#include <cmath>

#include <isthmus/errors.hpp>

#include "host/cpu/cpu_list.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/gate.hpp"

namespace isthmus::measure {
namespace {

constexpr const char* kMetric = "copy_time";
constexpr std::size_t kNoWarmUpBytes = std::size_t{32} << 20U;  // this large, no warm-up is needed

/// The blocked loop. Events and copies are enqueued while the gate holds the stream; then the
/// device runs them back to back.
void run_blocked(const CopyBuffers& buffers, const Kernels* kernels,
                 const BandwidthOptions& options, VerifiedSampling& sampling,
                 Measurement& measurement) {
  GateLoop loop(buffers.context(), kernels,
                {copy_by(options.by, buffers, kernels, options.direction, options.size_bytes)},
                {.gate_timeout = options.gate_timeout,
                 .num_warm_ups = options.size_bytes < kNoWarmUpBytes ? kWarmUpCopies : 0});
  measurement.first_call_seconds = loop.first_call();
  const std::size_t num_copies = loop.calibrate(measurement.first_call_seconds);
  sampling.add(measurement, kMetric, num_copies, [&] { return loop.run(num_copies); });
}

/// The unblocked loop: times the call and the wait for the device by the CPU's clock, one copy at a
/// time. The wait is needed because a small pageable copy may return while its bytes are still in
/// flight.
void run_unblocked(const CopyBuffers& buffers, const BandwidthOptions& options,
                   VerifiedSampling& sampling, Measurement& measurement) {
  const Copy copy(buffers, options.direction, options.size_bytes);
  const auto finish = buffers.context().driver().call(symbol::stream_synchronize);
  const auto one_sample = [&] {
    const auto start = Clock::now();
    copy.blocking();
    finish(nullptr);
    return seconds_since(start);
  };
  measurement.first_call_seconds = one_sample();
  sampling.add(measurement, kMetric, 1, one_sample);
}

}  // namespace

Measurement measure_bandwidth(CopyBuffers& buffers, const Kernels* kernels,
                              const BandwidthOptions& options) {
  if (!options.blocked && options.by == Engine::multiprocessors) {
    throw UsageError("copies by multiprocessors are measured behind a gate only");
  }
  if (options.blocked && buffers.host_memory() == HostMemory::pageable) {
    throw UsageError(
        "pageable copies synchronise inside and can't run behind a gate: measure them unblocked");
  }
  buffers.check_size(options.size_bytes);
  buffers.prepare(kernels);
  const CurrentContext current(buffers.context());
  VerifiedSampling sampling(buffers, kernels, options.direction, options.size_bytes,
                            options.stopping);
  Measurement measurement;
  if (options.blocked) {
    run_blocked(buffers, kernels, options, sampling, measurement);
  } else {
    run_unblocked(buffers, options, sampling, measurement);
  }
  return measurement;
}

void run_copy_load(CopyBuffers& buffers, Direction direction,
                   std::chrono::duration<double> seconds) {
  const CurrentContext current(buffers.context());
  const Copy copy(buffers, direction, buffers.size_bytes());
  const Stream stream(buffers.context());
  const auto start = Clock::now();
  while (seconds_since(start) < seconds.count()) {
    copy.enqueue(stream.handle());
    stream.synchronize();
  }
}

namespace {

/// A few pages belong to other memory, or were placed elsewhere when the node was full.
constexpr double kMaxStray = 0.05;

std::string capability(int node) { return "NUMA node " + std::to_string(node); }

/// Binds the calling thread to some CPUs while this lives.
class [[nodiscard]] BoundThread {
public:
  /// Throws Unavailable if the kernel refuses.
  explicit BoundThread(const NodePlace& place) : previous_(host::allowed_cpus()) {
    if (!place.cpus.empty() && host::allow_cpus(place.cpus)) return;
    throw Unavailable(capability(place.node), "this process may use none of its CPUs",
                      "a CPU set that includes the node");
  }
  ~BoundThread() { host::allow_cpus(previous_); }
  BoundThread(const BoundThread&) = delete;
  BoundThread& operator=(const BoundThread&) = delete;

private:
  std::vector<int> previous_;
};

}  // namespace

void require_pages_on(int node, const std::map<int, std::size_t>& pages_by_node,
                      std::size_t num_nodes) {
  if (num_nodes <= 1) return;
  std::size_t num_pages = 0;
  for (const auto& [where, count] : pages_by_node) num_pages += count;
  if (num_pages == 0) {
    throw Unavailable(capability(node), "the kernel doesn't say where pages lie",
                      "a process that may call move_pages");
  }
  const auto found = pages_by_node.find(node);
  const std::size_t num_there = found == pages_by_node.end() ? 0 : found->second;
  const double stray = static_cast<double>(num_pages - num_there) / static_cast<double>(num_pages);
  if (stray <= kMaxStray) return;
  throw Unavailable(capability(node),
                    std::to_string(std::lround(stray * 100)) +
                        " % of the pages that were to be there lie on other nodes",
                    "free memory on the node, and a process that may call set_mempolicy");
}

Measurement measure_node_bandwidth(const Context& context, const Kernels* kernels,
                                   const NodeCopyOptions& options) {
  const BoundThread bound(options.place);
  CopyBuffers buffers(context, options.memory, options.copy.size_bytes, options.place.node);
  buffers.prepare(kernels);
  const std::map<int, std::size_t> pages = buffers.host_pages_by_node();
  require_pages_on(options.place.node, pages, options.num_nodes);
  Measurement measurement = measure_bandwidth(buffers, kernels, options.copy);
  measurement.host_pages_by_node = pages;
  return measurement;
}

namespace {

constexpr std::size_t kSliceAlignment = 64;

void check(const CopyBuffers& buffers, const StreamCopiesOptions& options) {
  buffers.check_size(options.size_bytes);
  if (buffers.host_memory() == HostMemory::pageable) {
    throw UsageError("pageable copies can't run behind a gate: streams need pinned memory");
  }
  if (options.num_streams == 0 || options.size_bytes / options.num_streams < kSliceAlignment) {
    throw UsageError("a copy of " + std::to_string(options.size_bytes) + " bytes by " +
                     std::to_string(options.num_streams) +
                     " streams: at least 1 stream, and 64 bytes for each");
  }
}

/// One copy of a slice for each stream.
std::vector<GateLoop::Enqueue> slices_of(const CopyBuffers& buffers,
                                         const StreamCopiesOptions& options) {
  std::vector<GateLoop::Enqueue> slices;
  std::size_t begin = 0;
  for (std::size_t i = 1; i <= options.num_streams; ++i) {
    const std::size_t even = options.size_bytes / options.num_streams * i;
    const bool last = i == options.num_streams;
    const std::size_t end = last ? options.size_bytes : even / kSliceAlignment * kSliceAlignment;
    const LinkCopy slice{buffers.host() + begin, buffers.device() + begin, end - begin,
                         options.direction == Direction::host_to_device};
    slices.push_back([driver = buffers.context().driver(), slice](CUstream stream) {
      enqueue(driver, slice, stream);
    });
    begin = end;
  }
  return slices;
}

}  // namespace

Measurement measure_stream_copies(CopyBuffers& buffers, const Kernels* kernels,
                                  const StreamCopiesOptions& options) {
  check(buffers, options);
  buffers.prepare(kernels);
  const CurrentContext current(buffers.context());
  GateLoop loop(buffers.context(), kernels, slices_of(buffers, options),
                {.gate_timeout = options.gate_timeout});
  Measurement measurement;
  measurement.first_call_seconds = loop.first_call();
  const std::size_t num_copies = loop.calibrate(measurement.first_call_seconds);
  VerifiedSampling sampling(buffers, kernels, options.direction, options.size_bytes,
                            options.stopping);
  sampling.add(measurement, "copy_time", num_copies, [&] { return loop.run(num_copies); });
  return measurement;
}

}  // namespace isthmus::measure
