// cuMemcpy3D: boxes between the host, the device and arrays, waited for.
//
// Source: CUDA Driver API 13.0, cuMemcpy3D.
#include <algorithm>

#include "arrays.hpp"
#include "call.hpp"
#include "memory.hpp"
#include "paces.hpp"

namespace isthmus::emulator {
namespace {

/// One side of a copy: where its first row begins, and how far apart rows and slices are.
struct Side {
  std::byte* begin;
  std::size_t row_bytes;
  std::size_t slice_bytes;
  bool on_host;

  std::byte* row(std::size_t slice, std::size_t row) const {
    return begin + slice * slice_bytes + row * row_bytes;
  }
};

/// What CUDA_MEMCPY3D says of either side.
struct SideWanted {
  CUmemorytype memory;
  CUdeviceptr base;
  CUarray array;
  std::size_t x_bytes, y, z;
  std::size_t pitch_bytes, num_rows;
};

struct Box {
  Side target;
  Side source;
  std::size_t width_bytes, num_rows, num_slices;

  std::size_t size_bytes() const { return width_bytes * num_rows * num_slices; }
};

SideWanted source_of(const CUDA_MEMCPY3D& copy) {
  const bool host = copy.srcMemoryType == CU_MEMORYTYPE_HOST;
  return {copy.srcMemoryType, host ? address_of(copy.srcHost) : copy.srcDevice,
          copy.srcArray,      copy.srcXInBytes,
          copy.srcY,          copy.srcZ,
          copy.srcPitch,      copy.srcHeight};
}

SideWanted target_of(const CUDA_MEMCPY3D& copy) {
  const bool host = copy.dstMemoryType == CU_MEMORYTYPE_HOST;
  return {copy.dstMemoryType, host ? address_of(copy.dstHost) : copy.dstDevice,
          copy.dstArray,      copy.dstXInBytes,
          copy.dstY,          copy.dstZ,
          copy.dstPitch,      copy.dstHeight};
}

Side side_in_array(const SideWanted& wanted, const CUDA_MEMCPY3D& copy) {
  const std::shared_ptr<Array> array = machine().arrays.find(wanted.array);
  require(wanted.x_bytes + copy.WidthInBytes <= array->row_bytes);
  require(wanted.y + copy.Height <= array->num_rows && wanted.z + copy.Depth <= array->num_slices);
  const std::size_t slice_bytes = array->row_bytes * array->num_rows;
  return {to_pointer(array->object->base()) + wanted.z * slice_bytes + wanted.y * array->row_bytes +
              wanted.x_bytes,
          array->row_bytes, slice_bytes, false};
}

/// A pitch or a height of 0 says that rows or slices follow each other.
Side side_of(Lock& lock, const SideWanted& wanted, const CUDA_MEMCPY3D& copy) {
  if (wanted.memory == CU_MEMORYTYPE_ARRAY) return side_in_array(wanted, copy);
  require(wanted.memory == CU_MEMORYTYPE_HOST || wanted.memory == CU_MEMORYTYPE_DEVICE);
  const std::size_t row_bytes = wanted.pitch_bytes == 0 ? copy.WidthInBytes : wanted.pitch_bytes;
  const std::size_t num_rows = wanted.num_rows == 0 ? copy.Height : wanted.num_rows;
  require(row_bytes >= wanted.x_bytes + copy.WidthInBytes && num_rows >= wanted.y + copy.Height);
  const std::size_t slice_bytes = row_bytes * num_rows;
  const CUdeviceptr begin =
      wanted.base + wanted.z * slice_bytes + wanted.y * row_bytes + wanted.x_bytes;
  const bool on_host = wanted.memory == CU_MEMORYTYPE_HOST;
  const std::size_t extent_bytes =
      (copy.Depth - 1) * slice_bytes + (copy.Height - 1) * row_bytes + copy.WidthInBytes;
  if (!on_host) require_device_range(lock, begin, extent_bytes);
  return {to_pointer(begin), row_bytes, slice_bytes, on_host};
}

Time move_box(const Box& box, const Pace& pace, Time start) {
  const Time begin = Clock::now();
  for (std::size_t slice = 0; slice < box.num_slices; ++slice) {
    for (std::size_t row = 0; row < box.num_rows; ++row) {
      copy_now(box.target.row(slice, row), box.source.row(slice, row), box.width_bytes);
    }
  }
  const Duration really_spent = Clock::now() - begin;
  const Time end = start + pace.latency + std::max(pace.time_for(box.size_bytes()), really_spent);
  wait_until(end);
  return end;
}

Lane& lane_for(Device& device, const Box& box) {
  if (box.source.on_host == box.target.on_host) return device.inside;
  return box.source.on_host ? device.host_to_device : device.device_to_host;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" CUresult CUDAAPI cuMemcpy3D(const CUDA_MEMCPY3D* copy) {
  Call call("cuMemcpy3D");
  return call([&] {
    Context& context = current_context();
    require(copy != nullptr);
    Lock lock = lock_machine();
    require_no_capture(lock);
    if (copy->WidthInBytes == 0 || copy->Height == 0 || copy->Depth == 0) return CUDA_SUCCESS;
    const Box box{side_of(lock, target_of(*copy), *copy), side_of(lock, source_of(*copy), *copy),
                  copy->WidthInBytes, copy->Height, copy->Depth};
    call.note("bytes", box.size_bytes());
    auto operation = std::make_shared<Operation>();
    operation->lane = &lane_for(device_of(context), box);
    operation->work = [box](Time start) { return move_box(box, pageable_pace(), start); };
    enqueue(lock, context.default_stream, operation, nullptr, Worker::caller);
    machine().scheduler.wait(lock, operation);
    return CUDA_SUCCESS;
  });
}
