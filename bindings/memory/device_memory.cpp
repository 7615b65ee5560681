// DeviceMemory and Stream: device memory for examples and tests, and streams to wait for. Tensors:
// that memory for other libraries, by DLPack, and theirs, taken over only to be freed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <isthmus/errors.hpp>

#include "bindings/arrays/dlpack_structs.hpp"
#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/transfer/host_bytes.hpp"
#include "bindings/unlocked.hpp"
#include "device/buffers.hpp"
#include "device/capture.hpp"
#include "device/stream.hpp"
#include "host/memory/shared_view.hpp"
#include "window/allocation.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::Context;
using isthmus::CurrentContext;
using isthmus::DeviceBuffer;

namespace {

/// A DeviceBuffer that can be freed early, with copies made by the driver.
class FreeableMemory {
public:
  FreeableMemory(const Context& context, std::size_t size_bytes)
      : context_(context), buffer_(DeviceBuffer(context, size_bytes)), size_bytes_(size_bytes) {}

  CUdeviceptr pointer() const { return buffer().pointer(); }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  void free() { buffer_.reset(); }

  void write(std::size_t offset_bytes, const void* source, std::size_t size_bytes) const {
    const CUdeviceptr target = checked(offset_bytes, size_bytes);
    const CurrentContext current(context_);
    context_.driver().call(isthmus::symbol::memcpy_htod)(target, source, size_bytes);
    // A copy from pageable memory may return before its bytes have landed.
    const isthmus::ScopedRelaxedCapture relaxed(context_.driver());
    context_.driver().call(isthmus::symbol::stream_synchronize)(nullptr);
  }
  void read(void* target, std::size_t offset_bytes, std::size_t size_bytes) const {
    const CUdeviceptr source = checked(offset_bytes, size_bytes);
    const CurrentContext current(context_);
    context_.driver().call(isthmus::symbol::memcpy_dtoh)(target, source, size_bytes);
  }

private:
  const DeviceBuffer& buffer() const {
    if (!buffer_) throw isthmus::UsageError("this device memory was freed");
    return *buffer_;
  }
  CUdeviceptr checked(std::size_t offset_bytes, std::size_t size_bytes) const {
    if (offset_bytes > size_bytes_ || size_bytes > size_bytes_ - offset_bytes)
      throw isthmus::UsageError("out of range: " + std::to_string(size_bytes) + " bytes at " +
                                std::to_string(offset_bytes) + " of device memory of " +
                                std::to_string(size_bytes_));
    return buffer().pointer() + offset_bytes;
  }

  Context context_;
  std::optional<DeviceBuffer> buffer_;
  std::size_t size_bytes_;
};

using SharedMemory = Unlocked<FreeableMemory>;

void write_memory(const SharedMemory& memory, nb::handle data, std::size_t offset) {
  const HostBytes source(data, HostBytes::Access::readable);
  const GilReleased released;
  memory->write(offset, source.data(), source.size_bytes());
}

nb::bytes read_memory(const SharedMemory& memory, std::optional<std::size_t> size,
                      std::size_t offset) {
  const std::size_t rest = memory->size_bytes() - std::min(offset, memory->size_bytes());
  const std::size_t count = size.value_or(rest);
  nb::bytes bytes(nullptr, count);
  const GilReleased released;
  memory->read(PyBytes_AsString(bytes.ptr()), offset, count);
  return bytes;
}

std::uintptr_t stream_handle(const isthmus::Stream& stream) {
  return reinterpret_cast<std::uintptr_t>(stream.handle());
}

void synchronize_stream(const SharedContext& context, std::uintptr_t handle) {
  const CurrentContext current(*context);
  const auto stream = reinterpret_cast<CUstream>(handle);
  if (isthmus::is_captured(context->driver(), stream))
    throw isthmus::UsageError(
        "the array's stream is being captured, so its work can't be waited for; open a window with "
        "sync=False, or copy in a stream that isn't captured");
  const isthmus::ScopedRelaxedCapture relaxed(context->driver());
  context->driver().call(isthmus::symbol::stream_synchronize)(stream);
}

/// None if the driver doesn't know the pointer: opening a window on it gives a better error.
std::optional<int> pointer_device(const isthmus::Driver& driver, std::uintptr_t pointer) {
  const isthmus::window::AnyContext any(driver);
  int ordinal = -1;
  const auto ask = driver.raw(isthmus::symbol::pointer_get_attribute);
  if (ask == nullptr || ask(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer) != CUDA_SUCCESS)
    return std::nullopt;
  return ordinal;
}

}  // namespace

void bind_device_memory(nb::module_& m) {
  nb::class_<SharedMemory>(m, "DeviceMemory", "Device memory, freed when this object is destroyed.")
      .def(
          "__init__",
          [](SharedMemory* self, const SharedContext& context, std::size_t size_bytes) {
            new (self) SharedMemory(FreeableMemory(*context, size_bytes));
          },
          "context"_a, "size_bytes"_a, Release())
      .def_prop_ro("pointer", [](const SharedMemory& memory) { return memory->pointer(); })
      .def_prop_ro("nbytes", [](const SharedMemory& memory) { return memory->size_bytes(); })
      .def("write", &write_memory, "data"_a, "offset"_a = 0,
           "Copy to the device with the driver's copy.")
      .def("read", &read_memory, "n"_a = nb::none(), "offset"_a = 0,
           "Copy from the device with the driver's copy.")
      .def("free", [](const SharedMemory& memory) { memory->free(); }, Release());
  nb::class_<isthmus::Stream>(m, "Stream", "A stream that does not wait for the default stream.")
      .def(
          "__init__",
          [](isthmus::Stream* self, const SharedContext& context) {
            new (self) isthmus::Stream(*context);
          },
          "context"_a)
      .def_prop_ro("handle", &stream_handle, "The CUstream, as an integer.");
  m.def("synchronize_stream", &synchronize_stream, "context"_a, "handle"_a, Release(),
        "Wait until all work now in a CUstream is complete. 1: the legacy default stream; 2: the "
        "per-thread default stream.");
  m.def("pointer_device", &pointer_device, "driver"_a, "pointer"_a,
        "The device whose memory is at an address; None if CUDA doesn't know the address.");
}

namespace {

using DeviceTensor = nb::ndarray<nb::array_api, nb::device::cuda>;

/// The limit of PyTorch and NumPy. nanobind's exporter ends the process at more than 128.
constexpr std::size_t kMaxDimensions = 64;
/// DLPack counts items, and libraries count bytes, in signed 64-bit integers.
constexpr std::uint64_t kMaxBytes = std::numeric_limits<std::int64_t>::max();

/// Throws      UsageError if a tensor can't have that shape.
std::vector<std::size_t> checked_shape(const nb::sequence& lengths, std::uint8_t item_bits) {
  std::vector<std::size_t> shape;
  const std::uint64_t item_bytes = std::max(1U, (item_bits + 7U) / 8U);
  std::uint64_t max_items = kMaxBytes / item_bytes;
  for (const nb::handle item : lengths) {
    if (shape.size() == kMaxDimensions)
      throw isthmus::UsageError("a tensor has at most " + std::to_string(kMaxDimensions) +
                                " dimensions");
    std::size_t length = 0;
    const bool is_number = nb::try_cast(item, length);
    // A length of 0 doesn't reduce the strides before it.
    max_items /= std::max<std::size_t>(1, length);
    if (!is_number || max_items == 0)
      throw isthmus::UsageError("length " + std::to_string(shape.size()) +
                                " of a tensor's shape is no number from 0, or no memory holds it");
    shape.push_back(length);
  }
  return shape;
}

DeviceTensor device_tensor(std::uintptr_t pointer, const nb::sequence& lengths,
                           std::uint8_t type_code, std::uint8_t item_bits, int device,
                           nb::handle owner) {
  const std::vector<std::size_t> shape = checked_shape(lengths, item_bits);
  const nb::dlpack::dtype type{type_code, item_bits, 1};
  return {reinterpret_cast<void*>(pointer), shape.size(), shape.data(), owner, nullptr, type,
          nb::device::cuda::value,          device};
}

}  // namespace

void bind_device_tensor(nb::module_& m) {
  m.def("device_tensor", &device_tensor, "pointer"_a, "shape"_a, "type_code"_a, "item_bits"_a,
        "device"_a, "owner"_a,
        nb::sig("def device_tensor(pointer: int, shape: Sequence[int], type_code: int, item_bits: "
                "int, device: int, owner: object) -> object"),
        "Wrap device memory in a tensor with __dlpack__(), which keeps `owner` alive. Type codes "
        "are DLPack's. UsageError: no tensor can have that shape.");
}

namespace {

/// From the first item to the last; 0 if that isn't the tensor's order.
std::size_t extent_bytes(const dlpack::Tensor& tensor) noexcept {
  std::int64_t num_items = 1, count = 1;
  for (std::int32_t i = tensor.num_dimensions - 1; i >= 0; --i) {
    const std::int64_t stride = tensor.strides != nullptr ? tensor.strides[i] : count;
    if (tensor.shape[i] <= 0 || stride < 0) return 0;
    num_items += (tensor.shape[i] - 1) * stride;
    count *= tensor.shape[i];
  }
  return static_cast<std::size_t>(num_items) * tensor.item_bits * tensor.item_lanes / 8;
}

/// Where the tensor's items are, if the CPU has them.
const void* first_item(const dlpack::Tensor& tensor) noexcept {
  if (tensor.device.type != dlpack::kCpu || tensor.data == nullptr) return nullptr;
  return static_cast<const std::byte*>(tensor.data) + tensor.offset_bytes;
}

/// A library's deleter takes the GIL itself where it needs it: it may run in any thread. PyTorch's
/// frees a storage with the GIL held (2.11), so that what takes long is done before and after.
void free_tensor(const nb::capsule& exported) {
  PyObject* const capsule = exported.ptr();
  auto* const managed =
      static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, dlpack::kName));
  if (managed == nullptr || PyCapsule_SetName(capsule, dlpack::kUsedName) != 0)
    nb::raise_python_error();
  const GilReleased released;
  const void* const first = first_item(managed->tensor);
  const isthmus::host::SharedView until_then(first,
                                             first == nullptr ? 0 : extent_bytes(managed->tensor));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace

void bind_taken_tensor(nb::module_& m) {
  m.def("free_tensor", &free_tensor, "exported"_a,
        nb::sig("def free_tensor(exported: object) -> None"),
        "Take over what a DLPack capsule holds, and let go of it while other Python threads run. "
        "ValueError: the capsule isn't DLPack's, or its tensor was taken before.");
}
