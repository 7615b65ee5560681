// cuArrayCreate, cuArray3DCreate, cuArrayDestroy, cuMemAllocPitch: memory with a shape.
//
// Source: CUDA Driver API 13.0, "Memory Management".
#include "memory/virtual_memory.hpp"

#include <limits>

#include "api/call.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

/// The alignment of rows of cuMemAllocPitch: a choice, equal to that of current devices.
constexpr std::size_t kPitchBytes = 512;

/// Throws Refusal(INVALID_VALUE) for a format that isn't emulated.
std::size_t element_bytes(CUarray_format format, unsigned int num_channels) {
  require(num_channels == 1 || num_channels == 2 || num_channels == 4);
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return num_channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return std::size_t{2} * num_channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return std::size_t{4} * num_channels;
    default:
      throw Refusal{CUDA_ERROR_INVALID_VALUE};
  }
}

/// Throws Refusal(INVALID_VALUE) if it overflows.
std::size_t product(std::size_t a, std::size_t b) {
  require(a == 0 || b <= std::numeric_limits<std::size_t>::max() / a);
  return a * b;
}

CUarray create(const CUDA_ARRAY3D_DESCRIPTOR& wanted) {
  Context& context = current_context();
  require(wanted.Width > 0 && (wanted.Depth == 0 || wanted.Height > 0) && wanted.Flags == 0);
  auto array = std::make_shared<Array>();
  array->context = &context;
  array->element_bytes = element_bytes(wanted.Format, wanted.NumChannels);
  array->row_bytes = product(wanted.Width, array->element_bytes);
  array->num_rows = std::max<std::size_t>(wanted.Height, 1);
  array->num_slices = std::max<std::size_t>(wanted.Depth, 1);
  const std::size_t size_bytes =
      product(product(array->row_bytes, array->num_rows), array->num_slices);
  Lock lock = lock_machine();
  require_no_capture(lock);
  array->object =
      machine().objects.make(device_of(context), rounded_up(size_bytes, kDevicePageBytes));
  array->object->reserve_and_map(kDevicePageBytes);
  return machine().arrays.add(array);
}

}  // namespace

std::size_t array_bytes(Lock& lock) {
  (void)lock;
  std::size_t sum = 0;
  machine().arrays.for_each([&](const auto& array) { sum += array->size_bytes(); });
  return sum;
}

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuArrayCreate(CUarray* handle, const CUDA_ARRAY_DESCRIPTOR* wanted) {
  return Call("cuArrayCreate")([&] {
    require(handle != nullptr && wanted != nullptr);
    *handle = create({wanted->Width, wanted->Height, 0, wanted->Format, wanted->NumChannels, 0});
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuArray3DCreate(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR* wanted) {
  return Call("cuArray3DCreate")([&] {
    require(handle != nullptr && wanted != nullptr);
    *handle = create(*wanted);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuArrayDestroy(CUarray handle) {
  return Call("cuArrayDestroy")([&] {
    current_context();
    Lock lock = lock_machine();
    require_no_capture(lock);
    const std::shared_ptr<Array> array = machine().arrays.remove(handle);
    drain(lock, *array->context);
    lock.unlock();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAllocPitch(CUdeviceptr* address, std::size_t* pitch_bytes,
                                 std::size_t width_bytes, std::size_t num_rows,
                                 unsigned int element_bytes) {
  return Call("cuMemAllocPitch").note("bytes", width_bytes).note("rows", num_rows)([&] {
    Context& context = current_context();
    require(address != nullptr && pitch_bytes != nullptr && width_bytes > 0 && num_rows > 0);
    require(element_bytes == 4 || element_bytes == 8 || element_bytes == 16);
    const std::size_t pitch = rounded_up(width_bytes, kPitchBytes);
    require(pitch != 0);
    Lock lock = lock_machine();
    require_no_capture(lock);
    *address = allocate_on_device(lock, context, product(pitch, num_rows)).base;
    *pitch_bytes = pitch;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
