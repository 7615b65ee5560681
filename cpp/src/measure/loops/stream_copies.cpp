#include "measure/loops/stream_copies.hpp"

#include <isthmus/errors.hpp>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/gate_loop.hpp"
#include "measure/loops/verified_sampling.hpp"

namespace isthmus::measure {
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
