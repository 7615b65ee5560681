#include "bindings/arrays/numpy_layout.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <utility>

#include "bindings/arrays/protocols.hpp"

namespace nb = nanobind;

namespace {

struct NumpyType {
  PyObject head;
  PyTypeObject* scalar;
  char kind;
  char letter;
  char byte_order;
  char flags;  // elsewhere from NumPy 2.0 on
  int number;
};

struct NumpyArray {
  PyObject head;
  void* data;
  int num_dimensions;
  Py_ssize_t* lengths;
  Py_ssize_t* strides;
  PyObject* base;
  const NumpyType* type;
  int flags;
};
static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));

constexpr unsigned kContiguous = 0x1;
constexpr unsigned kWritable = 0x400;
constexpr unsigned kWarnsOnWrite = 0x80000000;

/// The bytes of an item, by NumPy's number of its type: from NPY_BOOL on. The size itself lies
/// elsewhere from NumPy 2.0 on.
constexpr std::array<std::int64_t, 17> kItemBytes = {
    sizeof(bool),
    sizeof(signed char),
    sizeof(unsigned char),
    sizeof(short),
    sizeof(unsigned short),
    sizeof(int),
    sizeof(unsigned),
    sizeof(long),
    sizeof(unsigned long),
    sizeof(long long),
    sizeof(unsigned long long),
    sizeof(float),
    sizeof(double),
    sizeof(long double),
    sizeof(std::complex<float>),
    sizeof(std::complex<double>),
    sizeof(std::complex<long double>),
};
constexpr int kHalf = 23;

/// 0 for a type that isn't a number.
std::int64_t item_bytes_of(const NumpyType& type) {
  if (type.number == kHalf) return 2;
  const bool known = type.number >= 0 && static_cast<std::size_t>(type.number) < kItemBytes.size();
  return known ? kItemBytes[static_cast<std::size_t>(type.number)] : 0;
}

/// NumPy has one letter for the machine's own order, and one for types without an order.
bool is_own_order(char byte_order) { return byte_order == '=' || byte_order == '|'; }

const NumpyArray& memory_of(nb::handle array) {
  return *reinterpret_cast<const NumpyArray*>(array.ptr());
}

const std::int64_t* numbers(const Py_ssize_t* of_python) {
  return reinterpret_cast<const std::int64_t*>(of_python);
}

bool same_numbers(const std::int64_t* one, const std::int64_t* other, int count) {
  return std::equal(one, one + count, other);
}

}  // namespace

bool has_known_layout(nb::handle array) {
  static const Name dtype("dtype");
  Array told;
  read_numpy(array, told);
  const NumpyArray& found = memory_of(array);
  const int count = told.num_dimensions;
  // In this order: what is followed was compared before.
  if (told.contiguous() || found.data != told.data || found.num_dimensions != count ||
      reinterpret_cast<const PyObject*>(found.type) != dtype.of(array).ptr())
    return false;
  if (!same_numbers(numbers(found.lengths), told.shape, count) ||
      !same_numbers(numbers(found.strides), told.strides, count))
    return false;
  Array read;
  return read_numpy_memory(array, read) && same_items(read.item, told.item) &&
         read.read_only == told.read_only && !read.contiguous();
}

std::int64_t numpy_item_bytes(nb::handle dtype) {
  const auto& type = *reinterpret_cast<const NumpyType*>(dtype.ptr());
  return is_own_order(type.byte_order) ? item_bytes_of(type) : 0;
}

bool read_numpy_memory(nb::handle object, Array& array) {
  const NumpyArray& found = memory_of(object);
  const auto flags = static_cast<unsigned>(found.flags);
  const std::int64_t item_bytes = item_bytes_of(*found.type);
  const bool usual = item_bytes != 0 && is_own_order(found.type->byte_order) &&
                     (flags & kWarnsOnWrite) == 0 &&
                     take_number(found.type->kind, item_bytes, array.item);
  if (!usual || !array.copy_shape(numbers(found.lengths), found.num_dimensions)) return false;
  array.data = found.data;
  array.read_only = (flags & kWritable) == 0;
  array.finish((flags & kContiguous) != 0 ? nullptr : numbers(found.strides), 8);
  return true;
}

namespace {

// Places in NumPy's table.
constexpr int kVersionPlace = 0;
constexpr int kArrayTypePlace = 2;
constexpr int kNewFromDescrPlace = 94;
constexpr int kDescrConverterPlace = 174;
constexpr int kSetBaseObjectPlace = 282;

// NPY_ABI_VERSION of NumPy 1.x and of 2.x.
constexpr unsigned kFirstInterface = 0x01000009;
constexpr unsigned kSecondInterface = 0x02000000;
// NPY_ARRAY_CARRAY: in C order, aligned, may be written.
constexpr int kUsualFlags = 0x1 | 0x100 | 0x400;

/// The capsule with the table; an invalid object if NumPy isn't there.
nb::object table_capsule() {
  for (const char* const name : {"numpy._core._multiarray_umath", "numpy.core._multiarray_umath"}) {
    PyObject* const module = into_python([&] { return PyImport_ImportModule(name); });
    if (module != nullptr) return nb::steal(module).attr("_ARRAY_API");
    PyErr_Clear();
  }
  return {};
}

/// An array in another order than C's.
nb::object sample() {
  return nb::module_::import_("numpy").attr("zeros")(nb::make_tuple(2, 3), "i2").attr("T");
}

}  // namespace

const NumpyMaking* NumpyMaking::look() {
  const nb::object capsule = table_capsule();
  if (!capsule.is_valid()) return nullptr;
  auto** const table = static_cast<void**>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (table == nullptr) throw nb::python_error();
  const unsigned version = reinterpret_cast<unsigned (*)()>(table[kVersionPlace])();
  if (version != kFirstInterface && version != kSecondInterface) return nullptr;
  if (!has_known_layout(sample())) return nullptr;
  static const NumpyMaking found(table);
  return &found;
}

const NumpyMaking* NumpyMaking::find() {
  static const NumpyMaking* found = nullptr;
  static bool looked = false;
  if (looked) return found;
  try {
    found = look();
  } catch (const nb::python_error&) {
    found = nullptr;  // then arrays are made by numpy.ndarray(), which says what is wrong
  }
  looked = true;
  return found;
}

nb::object NumpyMaking::type_of(nb::handle dtype) const {
  PyObject* type = nullptr;
  const auto convert = at<int (*)(PyObject*, PyObject**)>(kDescrConverterPlace);
  if (into_python([&] { return convert(dtype.ptr(), &type); }) != 0) return nb::steal(type);
  PyErr_Clear();
  return {};
}

nb::object NumpyMaking::array(const nb::object& type, const std::int64_t* lengths, int count,
                              void* data, nb::object owner) const {
  const auto make = at<PyObject* (*)(PyTypeObject*, PyObject*, int, const Py_ssize_t*,
                                     const Py_ssize_t*, void*, int, PyObject*)>(kNewFromDescrPlace);
  const auto set_base = at<int (*)(PyObject*, PyObject*)>(kSetBaseObjectPlace);
  nb::object stolen = type;
  nb::object made = nb::steal(
      make(static_cast<PyTypeObject*>(table_[kArrayTypePlace]), stolen.release().ptr(), count,
           reinterpret_cast<const Py_ssize_t*>(lengths), nullptr, data, kUsualFlags, nullptr));
  if (!made.is_valid() || set_base(made.ptr(), owner.release().ptr()) != 0)
    throw nb::python_error();
  return made;
}
