// Makes NumPy arrays of memory that exists, by NumPy's C API: a fifth of the time that
// numpy.ndarray(...) takes from Python.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

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
