// Boxes: rows, in slices, which 2-D and 3-D copies move between the host, the device and arrays.
#pragma once

#include "api/context.hpp"
#include "machine/link.hpp"

namespace isthmus::emulator {

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

/// Checks a copy and returns its box, which isn't empty.
///
/// Throws   Refusal: INVALID_VALUE for a box that doesn't fit into its pitch, its height, its array
///          or the device's memory, and for parts of an array's elements. Doesn't look at host
///          memory.
Box box_of(Lock& lock, const CUDA_MEMCPY3D& copy);

/// A 2-D copy as a 3-D copy of a single slice.
CUDA_MEMCPY3D as_3d(const CUDA_MEMCPY2D& copy);

bool moves_nothing(const CUDA_MEMCPY3D& copy);

/// True if one side is pageable memory of the host.
///
/// Throws   Refusal: NOT_SUPPORTED for copies from host to host, which aren't emulated here;
///          INVALID_VALUE if the host's memory is only partly pinned.
bool is_pageable(Lock& lock, const Box& box);

/// Moves all rows as one operation in the box's lane, which takes the time of one copy of their
/// bytes.
OperationPtr make_transfer(Context& context, const Box& box, const Pace& pace);

}  // namespace isthmus::emulator
