#include "bindings/arrays/numpy_making.hpp"

#include <utility>

#include "bindings/arrays/numpy_layout.hpp"
#include "bindings/arrays/protocols.hpp"

namespace nb = nanobind;

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
