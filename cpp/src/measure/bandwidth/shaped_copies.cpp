#include "measure/bandwidth/shaped_copies.hpp"

#include <isthmus/errors.hpp>

#include "measure/bandwidth/box_copy.hpp"
#include "measure/loops/gate_loop.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

void check(const CopyBuffers& buffers, const ShapedCopiesOptions& options) {
  if (buffers.host_memory() == HostMemory::pageable) {
    throw UsageError(
        "pageable copies can't run behind a gate: 2-D and 3-D copies need pinned "
        "memory");
  }
  if (options.shape.size_bytes() == 0) {
    throw UsageError("a 2-D or 3-D copy needs at least 1 row of 1 byte");
  }
  buffers.check_size(options.shape.size_bytes());
}

}  // namespace

Measurement measure_shaped_copies(CopyBuffers& buffers, const Kernels* kernels,
                                  const ShapedCopiesOptions& options) {
  check(buffers, options);
  buffers.prepare(kernels);
  const CurrentContext current(buffers.context());
  BoxCopy box(buffers, options.direction, options.layout, options.shape);
  box.poison();
  // Copy engines know rows and layers, not boxes: the driver launches one copy for each slice.
  const std::size_t num_launches = options.shape.num_slices.value_or(1);
  GateLoop loop(buffers.context(), kernels, {[&box](CUstream stream) { box.enqueue(stream); }},
                {.gate_timeout = options.gate_timeout, .launches_a_copy = num_launches});
  Measurement measurement;
  measurement.first_call_seconds = loop.first_call();
  const std::size_t num_copies = loop.calibrate(measurement.first_call_seconds);
  buffers.prepare(kernels);
  box.poison();
  Samples samples =
      sample(options.stopping, "copy_time", num_copies, [&] { return loop.run(num_copies); });
  if (options.stopping.verify) box.verify();
  measurement.verified_on = options.stopping.verify ? VerifiedOn::host : VerifiedOn::nobody;
  measurement.samples.push_back(std::move(samples));
  return measurement;
}

}  // namespace isthmus::measure
