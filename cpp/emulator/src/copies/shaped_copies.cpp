// cuMemcpy3D, cuMemcpy3DAsync, cuMemcpy2DAsync: boxes between the host, the device and arrays.
//
// Source: CUDA Driver API 13.0, cuMemcpy3D, cuMemcpy3DAsync and cuMemcpy2DAsync.
#include <algorithm>
#include <limits>

#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/link.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

/// One side of a box: the beginning of its first row, and the distances of rows and slices.
struct BoxSide {
  CUmemorytype memory;
  std::byte* begin;
  std::size_t row_bytes;
  std::size_t slice_bytes;

  bool on_host() const { return memory == CU_MEMORYTYPE_HOST; }
  std::byte* row(std::size_t slice, std::size_t row) const {
    return begin + slice * slice_bytes + row * row_bytes;
  }
};

struct Box {
  BoxSide target;
  BoxSide source;
  std::size_t width_bytes, num_rows, num_slices;

  std::size_t size_bytes() const { return width_bytes * num_rows * num_slices; }
  /// From its first byte to its last, including gaps.
  std::size_t extent_bytes(const BoxSide& side) const {
    return (num_slices - 1) * side.slice_bytes + (num_rows - 1) * side.row_bytes + width_bytes;
  }
};

/// The value of CU_DEVICE_ATTRIBUTE_MAX_PITCH on real devices.
constexpr std::size_t kMaxPitchBytes = std::numeric_limits<std::int32_t>::max();

/// CUDA_MEMCPY3D's fields for either side.
struct Wanted {
  CUmemorytype memory;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  std::size_t x_bytes, y, z;
  std::size_t pitch_bytes, num_rows;

  CUdeviceptr base() const { return memory == CU_MEMORYTYPE_HOST ? address_of(host) : device; }
};

Wanted source_of(const CUDA_MEMCPY3D& copy) {
  require(copy.srcLOD == 0 && copy.reserved0 == nullptr);
  return {copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcArray, copy.srcXInBytes,
          copy.srcY,          copy.srcZ,    copy.srcPitch,  copy.srcHeight};
}

Wanted target_of(const CUDA_MEMCPY3D& copy) {
  require(copy.dstLOD == 0 && copy.reserved1 == nullptr);
  return {copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstArray, copy.dstXInBytes,
          copy.dstY,          copy.dstZ,    copy.dstPitch,  copy.dstHeight};
}

BoxSide in_array(const Wanted& wanted, const CUDA_MEMCPY3D& copy) {
  const std::shared_ptr<Array> array = machine().arrays.find(wanted.array);
  require(wanted.x_bytes % array->element_bytes == 0);
  require(copy.WidthInBytes % array->element_bytes == 0);
  require(wanted.x_bytes + copy.WidthInBytes <= array->row_bytes);
  require(wanted.y + copy.Height <= array->num_rows && wanted.z + copy.Depth <= array->num_slices);
  const std::size_t slice_bytes = array->row_bytes * array->num_rows;
  return {wanted.memory,
          to_pointer(array->object->base()) + wanted.z * slice_bytes + wanted.y * array->row_bytes +
              wanted.x_bytes,
          array->row_bytes, slice_bytes};
}

/// A pitch of 0 means contiguous rows; a height of 0 is for copies of one slice.
BoxSide side_of(const Wanted& wanted, const CUDA_MEMCPY3D& copy) {
  if (wanted.memory == CU_MEMORYTYPE_ARRAY) return in_array(wanted, copy);
  require(wanted.memory == CU_MEMORYTYPE_DEVICE || wanted.memory == CU_MEMORYTYPE_UNIFIED ||
          wanted.memory == CU_MEMORYTYPE_HOST);
  const std::size_t row_bytes = wanted.pitch_bytes == 0 ? copy.WidthInBytes : wanted.pitch_bytes;
  require(row_bytes >= wanted.x_bytes + copy.WidthInBytes && row_bytes <= kMaxPitchBytes);
  require(wanted.num_rows == 0 ? copy.Depth == 1 : wanted.num_rows >= wanted.y + copy.Height);
  const std::size_t slice_bytes = row_bytes * wanted.num_rows;
  const CUdeviceptr begin =
      wanted.base() + wanted.z * slice_bytes + wanted.y * row_bytes + wanted.x_bytes;
  return {wanted.memory, to_pointer(begin), row_bytes, slice_bytes};
}

Time move_box(const Box& box, const Pace& pace, Time start) {
  const Time begin = Clock::now();
  for (std::size_t slice = 0; slice < box.num_slices; ++slice) {
    for (std::size_t row = 0; row < box.num_rows; ++row) {
      copy_now(box.target.row(slice, row), box.source.row(slice, row), box.width_bytes);
    }
  }
  const Duration really_spent = Clock::now() - begin;
  Time end = start + pace.latency + std::max(pace.time_for(box.size_bytes()), really_spent);
  if (pace.link != nullptr)
    end = std::max(end, pace.link->cross(box.size_bytes(), start + pace.latency));
  wait_until(end);
  return end;
}

/// The same on the link that other traffic shares, if the box crosses it.
Pace shared_pace(Device& device, const Box& box, const Pace& pace) {
  if (box.source.on_host() == box.target.on_host()) return pace;
  return pace.across(box.source.on_host() ? device.upward : device.downward);
}

Lane& lane_for(Device& device, const Box& box) {
  if (box.source.on_host() == box.target.on_host()) return device.inside;
  return box.source.on_host() ? device.host_to_device : device.device_to_host;
}

/// Checks a copy and returns its box, which isn't empty.
///
/// Throws   Refusal: INVALID_VALUE for a box that doesn't fit into its pitch, its height, its array
///          or the device's memory, and for parts of an array's elements. Doesn't look at host
///          memory.
Box box_of(Lock& lock, const CUDA_MEMCPY3D& copy) {
  const Box box{side_of(target_of(copy), copy), side_of(source_of(copy), copy), copy.WidthInBytes,
                copy.Height, copy.Depth};
  for (const BoxSide* side : {&box.target, &box.source}) {
    if (side->on_host() || side->memory == CU_MEMORYTYPE_ARRAY) continue;
    require_device_range(lock, address_of(side->begin), box.extent_bytes(*side));
  }
  return box;
}

/// A 2-D copy as a 3-D copy of a single slice.
CUDA_MEMCPY3D as_3d(const CUDA_MEMCPY2D& copy) {
  CUDA_MEMCPY3D box{};  // NOLINT(bugprone-invalid-enum-default-initialization): both set below
  box.srcXInBytes = copy.srcXInBytes;
  box.srcY = copy.srcY;
  box.srcMemoryType = copy.srcMemoryType;
  box.srcHost = copy.srcHost;
  box.srcDevice = copy.srcDevice;
  box.srcArray = copy.srcArray;
  box.srcPitch = copy.srcPitch;
  box.dstXInBytes = copy.dstXInBytes;
  box.dstY = copy.dstY;
  box.dstMemoryType = copy.dstMemoryType;
  box.dstHost = copy.dstHost;
  box.dstDevice = copy.dstDevice;
  box.dstArray = copy.dstArray;
  box.dstPitch = copy.dstPitch;
  box.WidthInBytes = copy.WidthInBytes;
  box.Height = copy.Height;
  box.Depth = 1;
  return box;
}

bool moves_nothing(const CUDA_MEMCPY3D& copy) {
  return copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0;
}

/// True if one side is pageable memory of the host.
///
/// Throws   Refusal: NOT_SUPPORTED for copies from host to host, which aren't emulated here;
///          INVALID_VALUE if the host's memory is only partly pinned.
bool is_pageable(Lock& lock, const Box& box) {
  require(!box.source.on_host() || !box.target.on_host(), CUDA_ERROR_NOT_SUPPORTED);
  if (!box.source.on_host() && !box.target.on_host()) return false;
  const BoxSide& host = box.source.on_host() ? box.source : box.target;
  return host_kind(lock, host.begin, box.extent_bytes(host)) == HostKind::pageable;
}

/// Moves all rows as one operation in the box's lane, which takes the time of one copy of their
/// bytes.
OperationPtr make_transfer(Context& context, const Box& box, const Pace& pace) {
  auto operation = std::make_shared<Operation>();
  operation->lane = &lane_for(device_of(context), box);
  operation->expected = pace.latency + pace.time_for(box.size_bytes());
  const Pace shared = shared_pace(device_of(context), box, pace);
  operation->work = [box, shared](Time start) { return move_box(box, shared, start); };
  return operation;
}

std::string_view name_of(CUmemorytype memory) {
  switch (memory) {
    case CU_MEMORYTYPE_HOST:
      return "host";
    case CU_MEMORYTYPE_ARRAY:
      return "array";
    default:
      return "device";
  }
}

Pace pace_of(const Box& box, bool is_pageable) {
  if (!box.source.on_host() && !box.target.on_host()) return inside_pace();
  return is_pageable ? pageable_pace() : pinned_pace();
}

CUresult enqueue_box(Call& call, const CUDA_MEMCPY3D& copy, CUstream handle) {
  Context& context = current_context();
  Lock lock = lock_machine();
  const StreamPtr stream = find_stream(lock, context, handle);
  call.note("source", name_of(copy.srcMemoryType))
      .note("target", name_of(copy.dstMemoryType))
      .note("bytes", copy.WidthInBytes * copy.Height * copy.Depth)
      .note("rows", copy.Height * copy.Depth)
      .note("stream", stream->number);
  if (moves_nothing(copy)) return CUDA_SUCCESS;
  const Box box = box_of(lock, copy);
  const bool by_caller = is_pageable(lock, box);
  const OperationPtr operation = make_transfer(context, box, pace_of(box, by_caller));
  if (!by_caller) {
    enqueue(lock, stream, operation);
    return CUDA_SUCCESS;
  }
  enqueue(lock, stream, operation, nullptr, Worker::caller);
  machine().scheduler.wait(lock, operation);
  return CUDA_SUCCESS;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuMemcpy3D(const CUDA_MEMCPY3D* copy) {
  Call call("cuMemcpy3D");
  return call([&] {
    Context& context = current_context();
    require(copy != nullptr);
    Lock lock = lock_machine();
    if (moves_nothing(*copy)) return CUDA_SUCCESS;
    const Box box = box_of(lock, *copy);
    call.note("bytes", box.size_bytes());
    const OperationPtr operation = make_transfer(context, box, pageable_pace());
    enqueue(lock, context.default_stream, operation, nullptr, Worker::caller);
    machine().scheduler.wait(lock, operation);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemcpy3DAsync(const CUDA_MEMCPY3D* copy, CUstream handle) {
  Call call("cuMemcpy3DAsync");
  return call([&] {
    require(copy != nullptr);
    return enqueue_box(call, *copy, handle);
  });
}

CUresult CUDAAPI cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream handle) {
  Call call("cuMemcpy2DAsync");
  return call([&] {
    require(copy != nullptr);
    return enqueue_box(call, as_3d(*copy), handle);
  });
}

}  // extern "C"
