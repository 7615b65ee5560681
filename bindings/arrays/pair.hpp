// The two arrays of a copy, and the stream in which it is made.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <span>

#include "bindings/arrays/reader.hpp"

/// Orders one copy after the work of its arrays' libraries.
class Ordering {
public:
  /// stream      the caller's, or None
  /// arrays      the first one of a library that has a current stream chooses that
  Ordering(ArrayReader& reader, nanobind::handle stream, std::span<Array* const> arrays);

  /// The CUstream of the copy.
  std::uintptr_t stream() const noexcept { return stream_.value_or(0); }
  /// Orders the copy after the work that uses an array.
  void include(nanobind::handle object, Array& array);

private:
  void include_work_of_library(nanobind::handle object, Array& array);
  void include_named(const Array& array);
  void include_unknown(nanobind::handle object, Array& array);

  ArrayReader& reader_;
  bool named_;
  std::optional<std::uintptr_t> stream_;
  int device_ = -1;
};

struct ArrayPair {
  Array target;
  Array source;
  std::uintptr_t stream = 0;  ///< the CUstream of the copy
};

/// Reads two arrays, chooses the stream of their copy, and orders the copy after the libraries'
/// pending work.
///
/// If the caller names a stream, only that one counts, as in the libraries themselves; but a
/// library without a current stream (JAX) orders its work before it nevertheless. Without a named
/// stream the copy is made in the current stream of the target's library, or else of the source's,
/// after the other library's pending work.
///
/// stream      None, a CUstream as an int, or a stream of any library
/// Throws      nanobind::python_error with an explanation
void read_pair(ArrayReader& reader, nanobind::handle target, nanobind::handle source,
               nanobind::handle stream, Hold hold, ArrayPair& pair);

/// True if one array can be copied to the other as one range of bytes, and both are in C order. If
/// false, isthmus.move.transfer packs an array, or explains what is wrong.
bool is_plain(const ArrayPair& pair);

/// What a copy of both is told.
isthmus::CopyOptions options_of(const ArrayPair& pair);

/// Both arrays as Python objects that keep their memory, and the stream.
nanobind::tuple describe(const ArrayReader& reader, nanobind::handle target,
                         nanobind::handle source, ArrayPair& pair);
