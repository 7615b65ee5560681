#include "measure/bandwidth/shaped_copies.hpp"

#include <isthmus/errors.hpp>

#include "measure/loops/failures.hpp"
#include "measure/loops/gate_loop.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

CUDA_MEMCPY3D copy_of(Direction direction, const BoxEnd& host, const BoxEnd& device,
                      const BoxShape& shape) {
  return direction == Direction::host_to_device ? box_copy(device, host, shape)
                                                : box_copy(host, device, shape);
}

/// The first slice of the box.
CUDA_MEMCPY2D in_2d(const CUDA_MEMCPY3D& box) {
  CUDA_MEMCPY2D copy{};  // NOLINT(bugprone-invalid-enum-default-initialization): both set below
  copy.srcMemoryType = box.srcMemoryType;
  copy.srcHost = box.srcHost;
  copy.srcDevice = box.srcDevice;
  copy.srcArray = box.srcArray;
  copy.srcPitch = box.srcPitch;
  copy.dstMemoryType = box.dstMemoryType;
  copy.dstHost = box.dstHost;
  copy.dstDevice = box.dstDevice;
  copy.dstArray = box.dstArray;
  copy.dstPitch = box.dstPitch;
  copy.WidthInBytes = box.WidthInBytes;
  copy.Height = box.Height;
  return copy;
}

}  // namespace

BoxCopy::BoxCopy(CopyBuffers& buffers, Direction direction, BoxLayout layout, const BoxShape& shape)
    : buffers_(buffers),
      driver_(buffers.context().driver()),
      direction_(direction),
      shape_(shape),
      memory_(make_shaped_memory(buffers.context(), layout, shape)),
      copy_(copy_of(direction, packed_on_host(buffers.host(), shape), memory_->end(), shape)) {}

void BoxCopy::enqueue(CUstream stream) const {
  if (shape_.is_3d()) {
    driver_.call(symbol::memcpy_3d_async)(&copy_, stream);
    return;
  }
  const CUDA_MEMCPY2D copy = in_2d(copy_);
  driver_.call(symbol::memcpy_2d_async)(&copy, stream);
}

void BoxCopy::poison() {
  const bool up = direction_ == Direction::host_to_device;
  memory_->fill(up ? nullptr : buffers_.host());
  buffers_.disturb();
  if (!up) buffers_.poison(direction_, shape_.size_bytes());
}

void BoxCopy::verify() {
  // Also verifies the host's side of an upload: a copy in the wrong direction would make both sides
  // equal.
  buffers_.verify(Direction::device_to_host, shape_.size_bytes(), nullptr);
  if (direction_ == Direction::device_to_host) return;
  const std::size_t num_wrong = memory_->num_wrong_rows(buffers_.host());
  if (num_wrong == 0) return;
  throw CorruptTransfer("verification failed: " + std::to_string(num_wrong) + " of " +
                        std::to_string(shape_.num_all_rows()) + " rows of a " +
                        (shape_.is_3d() ? "3-D" : "2-D") +
                        " copy from host to device are not what was sent");
}

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
