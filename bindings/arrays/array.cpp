#include "bindings/arrays/array.hpp"

#include <algorithm>

#include "bindings/arrays/protocols.hpp"

namespace nb = nanobind;

namespace {

/// Copies a sequence of Python ints. Returns how many there are, or -1 if they are too many.
int copy_numbers(nb::handle numbers, std::int64_t* copies) {
  const nb::object items = PyTuple_CheckExact(numbers.ptr())
                               ? nb::borrow(numbers)
                               : from_python([&] { return PySequence_Tuple(numbers.ptr()); });
  const Py_ssize_t count = PyTuple_Size(items.ptr());
  if (count > Array::kMaxDimensions) return -1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    copies[i] = PyLong_AsLongLong(PyTuple_GetItem(items.ptr(), i));
    if (copies[i] == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  }
  return static_cast<int>(count);
}

/// True if strides, in their own unit, are those of C order.
bool is_c_order(const std::int64_t* shape, const std::int64_t* strides, int count,
                std::int64_t item_size) {
  if (std::find(shape, shape + count, 0) != shape + count) return true;
  std::int64_t expected = item_size;
  for (int i = count - 1; i >= 0; --i) {
    // The stride of a dimension of one item is never used.
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace

void Array::take_bytes(void* memory, std::size_t num_bytes) noexcept {
  data = memory;
  size_bytes = num_bytes;
}

bool Array::take_shape(const std::int64_t* lengths, int count) noexcept {
  if (count > kMaxDimensions) return false;
  shape = lengths;
  num_dimensions = count;
  return true;
}

bool Array::copy_shape(const std::int64_t* lengths, int count) noexcept {
  if (count > kMaxDimensions) return false;
  std::copy_n(lengths, count, own_shape_);
  return take_shape(own_shape_, count);
}

bool Array::take_lengths(nb::handle lengths) {
  const int count = copy_numbers(lengths, own_shape_);
  if (count < 0) return false;
  shape = own_shape_;
  num_dimensions = count;
  return true;
}

bool Array::take_strides(nb::handle in_bytes) {
  has_own_strides_ = true;
  return copy_numbers(in_bytes, own_strides_) == num_dimensions;
}

void Array::finish() { finish(has_own_strides_ ? own_strides_ : nullptr, 8); }

void Array::finish(const std::int64_t* given, std::int64_t unit_bits) {
  std::int64_t num_items = 1;
  for (int i = 0; i < num_dimensions; ++i) num_items *= shape[i];
  size_bytes = (static_cast<std::size_t>(num_items) * static_cast<std::size_t>(item.bits) + 7) / 8;
  if (given == nullptr || is_c_order(shape, given, num_dimensions, item.bits / unit_bits)) return;
  for (int i = 0; i < num_dimensions; ++i) own_strides_[i] = given[i] * unit_bits / 8;
  strides = own_strides_;
}
