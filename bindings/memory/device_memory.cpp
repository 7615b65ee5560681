// DeviceMemory and Stream: device memory for examples and tests, and streams to wait for.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include <isthmus/errors.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/transfer/host_bytes.hpp"
#include "bindings/unlocked.hpp"
#include "device/buffers.hpp"
#include "device/capture.hpp"
#include "device/stream.hpp"
#include "window/allocation.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using isthmus::Context;
using isthmus::CurrentContext;
using isthmus::DeviceBuffer;

namespace {

/// A DeviceBuffer that can be freed early, with copies made by the driver.
class DeviceMemory {
public:
  DeviceMemory(const Context& context, std::size_t size_bytes)
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

using SharedMemory = Unlocked<DeviceMemory>;

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
            new (self) SharedMemory(DeviceMemory(*context, size_bytes));
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
