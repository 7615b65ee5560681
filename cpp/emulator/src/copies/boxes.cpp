// Source: CUDA Driver API 13.0, cuMemcpy2DAsync and cuMemcpy3D.
#include "copies/boxes.hpp"

#include <algorithm>
#include <limits>

#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

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

}  // namespace

Box box_of(Lock& lock, const CUDA_MEMCPY3D& copy) {
  const Box box{side_of(target_of(copy), copy), side_of(source_of(copy), copy), copy.WidthInBytes,
                copy.Height, copy.Depth};
  for (const BoxSide* side : {&box.target, &box.source}) {
    if (side->on_host() || side->memory == CU_MEMORYTYPE_ARRAY) continue;
    require_device_range(lock, address_of(side->begin), box.extent_bytes(*side));
  }
  return box;
}

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

bool is_pageable(Lock& lock, const Box& box) {
  require(!box.source.on_host() || !box.target.on_host(), CUDA_ERROR_NOT_SUPPORTED);
  if (!box.source.on_host() && !box.target.on_host()) return false;
  const BoxSide& host = box.source.on_host() ? box.source : box.target;
  return host_kind(lock, host.begin, box.extent_bytes(host)) == HostKind::pageable;
}

OperationPtr make_transfer(Context& context, const Box& box, const Pace& pace) {
  auto operation = std::make_shared<Operation>();
  operation->lane = &lane_for(device_of(context), box);
  operation->expected = pace.latency + pace.time_for(box.size_bytes());
  const Pace shared = shared_pace(device_of(context), box, pace);
  operation->work = [box, shared](Time start) { return move_box(box, shared, start); };
  return operation;
}

}  // namespace isthmus::emulator
