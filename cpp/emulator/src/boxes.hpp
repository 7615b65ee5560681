// Boxes: rows, in slices, that 2-D and 3-D copies move between the host, the device and arrays.
#pragma once

#include "context.hpp"
#include "link.hpp"

namespace isthmus::emulator {

/// One side of a box: where its first row begins, and how far apart rows and slices are.
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
  /// From its first byte to its last, gaps included.
  std::size_t extent_bytes(const BoxSide& side) const {
    return (num_slices - 1) * side.slice_bytes + (num_rows - 1) * side.row_bytes + width_bytes;
  }
};

/// Checks what is asked for; it moves something.
///
/// Throws   Refusal: INVALID_VALUE for what doesn't fit into its pitch, its height, its array or
///          the device's memory, and for parts of an array's elements. Host memory isn't looked at.
Box box_of(Lock& lock, const CUDA_MEMCPY3D& copy);

/// A 2-D copy as one of a single slice.
CUDA_MEMCPY3D as_3d(const CUDA_MEMCPY2D& copy);

bool moves_nothing(const CUDA_MEMCPY3D& copy);

/// Throws Refusal unless one side is the host and pinned: NOT_SUPPORTED for what isn't emulated
/// here, pageable memory and copies inside the device; INVALID_VALUE if it is pinned in part only.
void require_pinned_link(Lock& lock, const Box& box);

/// Moves all rows at once, in the box's lane, and takes the time of one copy of their bytes.
OperationPtr make_transfer(Context& context, const Box& box, const Pace& pace);

}  // namespace isthmus::emulator
