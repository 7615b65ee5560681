// An array as copies see it, whatever library it comes from.
#pragma once

#include <nanobind/nanobind.h>

#include <isthmus/transfer.hpp>

#include <cstddef>
#include <cstdint>

#include "arrays/export.hpp"
#include "arrays/item.hpp"

/// Where an array's memory lies, as far as the object says.
enum class Place { host, pinned, device, managed };

/// Which pending work uses an array's memory.
enum class Use {
  none,     ///< none that the object knows of
  library,  ///< the work in its library's current stream, which `stream` is
  named,    ///< the work in a stream that the object names
  unknown,  ///< its library must be told a stream, which then comes after its work
};

/// Memory that an object offers. Made and destroyed with the GIL held.
class Array {
public:
  static constexpr int kNoShape = -1;
  static constexpr int kMaxDimensions = 64;  ///< as NumPy, PyTorch and the buffer protocol have

  Array() = default;
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  bool on_device() const noexcept { return place == Place::device || place == Place::managed; }
  /// True if its items follow each other in C order.
  bool contiguous() const noexcept { return strides == nullptr; }
  bool has_shape() const noexcept { return num_dimensions != kNoShape; }

  // For readers. Each keeps the invariants of shape, strides and size.

  /// Bytes without a shape.
  void take_bytes(void* memory, std::size_t num_bytes) noexcept;
  /// The lengths must live as long as `held`. Returns false if there are too many.
  bool take_shape(const std::int64_t* lengths, int count) noexcept;
  /// Lengths from a sequence of Python ints. Returns false if there are too many.
  bool take_lengths(nanobind::handle lengths);
  /// Strides from a sequence of Python ints, in bytes. Returns false if their number is wrong.
  bool take_strides(nanobind::handle in_bytes);
  /// Keeps strides that aren't C order's, and counts the bytes. The type of the items is known.
  ///
  /// given        null is C order
  /// unit_bits    of the strides: 8, or the bits of an item
  void finish(const std::int64_t* given, std::int64_t unit_bits);
  /// As above, with what take_strides() took.
  void finish();

  void* data = nullptr;
  std::size_t size_bytes = 0;
  Item item;
  int num_dimensions = kNoShape;
  const std::int64_t* shape = nullptr;
  const std::int64_t* strides = nullptr;  ///< in bytes; null is C order
  bool read_only = false;
  Place place = Place::host;
  /// What is certain: an array may view any of the host's memory.
  isthmus::MemoryKind host_kind = isthmus::MemoryKind::unknown;
  Use use = Use::none;
  std::uintptr_t stream = 0;
  int device = -1;       ///< -1: not known
  bool exported = true;  ///< false: the address is known after the export alone

  Export held;

private:
  bool has_own_strides_ = false;
  std::int64_t own_shape_[kMaxDimensions];    // NOLINT(*-member-init): filled as far as it is used
  std::int64_t own_strides_[kMaxDimensions];  // NOLINT(*-member-init): the same
};
