// NumPy's arrays where they lie in memory.
//
// Every compiled extension reads these members by inline functions (PyArray_DATA, PyArray_DIMS and
// others), so they have stayed where they are since NumPy 1.0. Asking for __array_struct__ takes 90
// ns, because NumPy allocates a copy of them. Source: NumPy's documentation, "Python types and
// C-structures": PyArrayObject, PyArray_Descr.
#pragma once

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
