// NumPy's arrays: read where they lie in memory, and made of memory that exists.
//
// Every compiled extension reads these members by inline functions (PyArray_DATA, PyArray_DIMS and
// others), so they have stayed where they are since NumPy 1.0. Asking for __array_struct__ takes 90
// ns, because NumPy allocates a copy of them; numpy.ndarray(...) from Python takes five times as
// long as NumPy's C API. Source: NumPy's documentation, "Python types and C-structures":
// PyArrayObject, PyArray_Descr.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>

#include "bindings/arrays/array.hpp"

/// True if this NumPy has its members there. Believes no member before others have agreed with what
/// the array says by Python's means.
///
/// array        of two or more dimensions, not contiguous
bool has_known_layout(nanobind::handle array);

/// Reads an array of numbers or booleans in the machine's byte order. NumPy must have the known
/// layout.
///
/// Returns      false, with nothing read: an array of another kind, or one that NumPy warns about
///              when it is written
bool read_numpy_memory(nanobind::handle object, Array& array);

/// The functions that this takes from NumPy's table. Their places in it are part of NumPy's binary
/// interface: they are the same in all of 1.x and 2.x. Source: NumPy's documentation, "How to
/// extend NumPy", and its header numpy/__multiarray_api.h.
class NumpyMaking {
public:
  /// Null if there is no NumPy, or one whose binary interface isn't known here. Call with the GIL
  /// held. The answer is final.
  static const NumpyMaking* find();

  /// A numpy.dtype; an invalid object if NumPy makes none of it.
  nanobind::object type_of(nanobind::handle dtype) const;
  /// An array in C order that may be written.
  ///
  /// type        a numpy.dtype
  /// owner       kept by the array and its views
  /// Throws      nanobind::python_error
  nanobind::object array(const nanobind::object& type, const std::int64_t* lengths, int count,
                         void* data, nanobind::object owner) const;

private:
  explicit NumpyMaking(void** table) noexcept : table_(table) {}
  static const NumpyMaking* look();
  template <typename Function>
  Function at(int place) const noexcept {
    return reinterpret_cast<Function>(table_[place]);
  }
  void** table_;
};

/// The bytes of an item of a numpy.dtype; 0 unless it is a number or a boolean in the machine's
/// byte order. NumPy must have the known layout: numpy_layout.hpp.
std::int64_t numpy_item_bytes(nanobind::handle dtype);
