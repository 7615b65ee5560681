#include "measure/bandwidth/shaped_copies.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "device/owned.hpp"
#include "measure/loops/gate.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr int kPoison = 0x5A;

/// Rows with gaps behind them and, in a box, a gap behind each slice, as in a larger volume.
/// Otherwise a driver could make one 2-D copy of it.
class Pitched final : public ShapedMemory {
public:
  Pitched(const Context& context, const BoxShape& shape)
      : driver_(context.driver()),
        shape_(shape),
        pitch_bytes_(pitch_of(shape.row_bytes)),
        rows_a_slice_(shape.num_rows + (shape.is_3d() ? 1 : 0)),
        memory_(context, pitch_bytes_ * rows_a_slice_ * shape.num_slices.value_or(1)),
        image_(memory_.size_bytes()) {}

  BoxEnd end() const noexcept override {
    return {.memory = CU_MEMORYTYPE_DEVICE,
            .device = memory_.pointer(),
            .pitch_bytes = pitch_bytes_,
            .num_rows = rows_a_slice_};
  }

  void fill(const std::byte* rows) override {
    std::memset(image_.data(), kPoison, image_.size());
    if (rows != nullptr) {
      for (std::size_t i = 0; i < shape_.num_all_rows(); ++i)
        std::memcpy(row(i), rows + i * shape_.row_bytes, shape_.row_bytes);
    }
    driver_.call(symbol::memcpy_htod)(memory_.pointer(), image_.data(), image_.size());
    driver_.call(symbol::stream_synchronize)(nullptr);
  }

  std::size_t num_wrong_rows(const std::byte* rows) override {
    driver_.call(symbol::memcpy_dtoh)(image_.data(), memory_.pointer(), image_.size());
    std::size_t num_wrong = 0;
    for (std::size_t i = 0; i < shape_.num_all_rows(); ++i) {
      const bool same = std::memcmp(row(i), rows + i * shape_.row_bytes, shape_.row_bytes) == 0;
      num_wrong += !same || !gap_is_untouched(i);
    }
    return num_wrong;
  }

private:
  /// The index doesn't count the rows between slices.
  std::byte* row(std::size_t index) {
    const std::size_t num_before = index / shape_.num_rows * rows_a_slice_;
    return image_.data() + (num_before + index % shape_.num_rows) * pitch_bytes_;
  }
  bool gap_is_untouched(std::size_t index) {
    const std::byte* begin = row(index) + shape_.row_bytes;
    const bool last = index + 1 == shape_.num_all_rows();
    const std::byte* end = last ? image_.data() + image_.size() : row(index + 1);
    return std::all_of(begin, end, [](std::byte byte) { return byte == std::byte{kPoison}; });
  }

  Driver driver_;
  BoxShape shape_;
  std::size_t pitch_bytes_;
  std::size_t rows_a_slice_;
  DeviceBuffer memory_;
  std::vector<std::byte> image_;  ///< the whole memory, including gaps
};

Owned<CUarray> make_array(const Context& context, const BoxShape& shape) {
  const Driver& driver = context.driver();
  const std::size_t width = shape.row_bytes / kElementBytes;
  CUarray array = nullptr;
  if (shape.is_3d()) {
    const CUDA_ARRAY3D_DESCRIPTOR wanted{
        width, shape.num_rows, shape.num_slices.value_or(1), CU_AD_FORMAT_UNSIGNED_INT32, 1, 0};
    driver.call(symbol::array_3d_create)(&array, &wanted);
  } else {
    const CUDA_ARRAY_DESCRIPTOR wanted{width, shape.num_rows, CU_AD_FORMAT_UNSIGNED_INT32, 1};
    driver.call(symbol::array_create)(&array, &wanted);
  }
  return {context, array, driver.raw(symbol::array_destroy), symbol::array_destroy.name};
}

class Array final : public ShapedMemory {
public:
  Array(const Context& context, const BoxShape& shape)
      : driver_(context.driver()),
        shape_(shape),
        array_(make_array(context, shape)),
        image_(shape.size_bytes()) {}

  BoxEnd end() const noexcept override {
    return {.memory = CU_MEMORYTYPE_ARRAY, .array = array_.handle()};
  }

  void fill(const std::byte* rows) override {
    if (rows != nullptr) {
      std::memcpy(image_.data(), rows, image_.size());
    } else {
      std::memset(image_.data(), kPoison, image_.size());
    }
    copy(end(), packed_on_host(image_.data(), shape_));
  }

  std::size_t num_wrong_rows(const std::byte* rows) override {
    copy(packed_on_host(image_.data(), shape_), end());
    std::size_t num_wrong = 0;
    for (std::size_t begin = 0; begin < image_.size(); begin += shape_.row_bytes)
      num_wrong += std::memcmp(image_.data() + begin, rows + begin, shape_.row_bytes) != 0;
    return num_wrong;
  }

private:
  void copy(const BoxEnd& target, const BoxEnd& source) {
    const CUDA_MEMCPY3D wanted = box_copy(target, source, shape_);
    driver_.call(symbol::memcpy_3d)(&wanted);
    driver_.call(symbol::stream_synchronize)(nullptr);
  }

  Driver driver_;
  BoxShape shape_;
  Owned<CUarray> array_;
  std::vector<std::byte> image_;
};

}  // namespace

BoxEnd packed_on_host(void* host, const BoxShape& shape) noexcept {
  return {.memory = CU_MEMORYTYPE_HOST,
          .host = host,
          .pitch_bytes = shape.row_bytes,
          .num_rows = shape.num_rows};
}

CUDA_MEMCPY3D box_copy(const BoxEnd& target, const BoxEnd& source, const BoxShape& shape) noexcept {
  CUDA_MEMCPY3D copy{};  // NOLINT(bugprone-invalid-enum-default-initialization): both set below
  copy.srcMemoryType = source.memory;
  copy.srcHost = source.host;
  copy.srcDevice = source.device;
  copy.srcArray = source.array;
  copy.srcPitch = source.pitch_bytes;
  copy.srcHeight = source.num_rows;
  copy.dstMemoryType = target.memory;
  copy.dstHost = target.host;
  copy.dstDevice = target.device;
  copy.dstArray = target.array;
  copy.dstPitch = target.pitch_bytes;
  copy.dstHeight = target.num_rows;
  copy.WidthInBytes = shape.row_bytes;
  copy.Height = shape.num_rows;
  copy.Depth = shape.num_slices.value_or(1);
  return copy;
}

std::unique_ptr<ShapedMemory> make_shaped_memory(const Context& context, BoxLayout layout,
                                                 const BoxShape& shape) {
  if (layout == BoxLayout::pitched) return std::make_unique<Pitched>(context, shape);
  if (shape.row_bytes % kElementBytes != 0) {
    throw UsageError("rows of " + std::to_string(shape.row_bytes) +
                     " bytes in an array of 4-byte elements: give a multiple of 4");
  }
  return std::make_unique<Array>(context, shape);
}

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
