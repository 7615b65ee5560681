// Protocols within one process: buffers, and the array interfaces of NumPy and CUDA.
#include <algorithm>
#include <string_view>
#include <utility>

#include "bindings/arrays/protocols.hpp"

namespace nb = nanobind;
using isthmus::MemoryKind;

namespace {

// The contents of __array_struct__. Source: NumPy's documentation, "The array interface protocol".
struct ArrayStruct {
  int two;
  int num_dimensions;
  char kind;
  int item_bytes;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  void* data;
};
constexpr int kContiguous = 0x1;
constexpr int kNativeOrder = 0x200;
constexpr int kWritable = 0x400;
static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t));

// Source: CUDA Array Interface (version 3), Numba's documentation.
constexpr long kNewestCudaInterface = 3;
// A value of numpy.dtype.isbuiltin: a type that another library has registered.
constexpr long kOfAUser = 2;

const std::int64_t* numbers(const Py_ssize_t* of_python) {
  return reinterpret_cast<const std::int64_t*>(of_python);
}

std::string_view text_of(nb::handle object) {
  if (!PyUnicode_Check(object.ptr())) return {};
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text == nullptr) PyErr_Clear();
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<std::size_t>(size));
}

/// True if the format means untyped bytes: bytes, bytearray, mmap, a memoryview cast to B.
bool is_raw(std::string_view format) {
  if (format == "B") return true;  // nearly always
  constexpr std::string_view raw[] = {"b", "c", "<B", "@B", "=B"};
  return std::find(std::begin(raw), std::end(raw), format) != std::end(raw);
}

void take_item(nb::handle typestr, Array& array) {
  const std::string_view text = text_of(typestr);
  if (text.starts_with("|O")) throw Refusal{"objects"};
  if (!take_typestr(text, array.item)) throw Refusal{"typestr", nb::borrow(typestr)};
}

/// Names types that have no type string: structures, and those of ml_dtypes, whose float8_e5m2 has
/// the type string "<f1" like a type of NumPy.
void take_dtype(nb::handle array, Item& item) {
  static const Name dtype_name("dtype"), isbuiltin("isbuiltin"), fields("fields"), name("name");
  static const Name hasobject("hasobject");
  const nb::object dtype = dtype_name.if_any(array);
  if (!dtype.is_valid() || dtype.is_none()) return;
  const nb::object has_objects = hasobject.if_any(dtype);
  if (has_objects.ptr() == Py_True) throw Refusal{"objects"};
  const nb::object origin = isbuiltin.if_any(dtype);
  const bool of_a_user = origin.is_valid() && nb::cast<long>(origin) == kOfAUser;
  if (item.code != Item::kAny && !of_a_user) return;
  const nb::object members = fields.if_any(dtype);
  const bool is_structure = members.is_valid() && !members.is_none();
  const nb::object meant = is_structure ? dtype : name.of(dtype);
  nb::object named = from_python([&] { return PyObject_Str(meant.ptr()); });
  item.code = text_of(named).starts_with("void") ? Item::kAny : Item::kNamed;
  item.named = std::move(named);
  if (of_a_user) find_dlpack_code(item);
}

/// For an array whose __array_struct__ has no flags: NumPy clears them all if it has fields.
bool is_writable(nb::handle array) {
  static const Name flags("flags"), writeable("writeable");
  return writeable.of(flags.of(array)).ptr() == Py_True;
}

/// A member of any mapping; null, without a Python error, if it is missing.
PyObject* item_of(nb::handle mapping, const Name& name) {
  PyObject* const found = into_python([&] { return PyObject_GetItem(mapping.ptr(), name.ptr()); });
  if (found == nullptr && PyErr_ExceptionMatches(PyExc_KeyError) == 0) throw nb::python_error();
  if (found == nullptr) PyErr_Clear();
  return found;
}

/// A member of a dictionary or other mapping; invalid if it is missing or None.
nb::object member(nb::handle interface, const Name& name) {
  const nb::object found = PyDict_CheckExact(interface.ptr()) != 0
                               ? nb::borrow(PyDict_GetItemWithError(interface.ptr(), name.ptr()))
                               : nb::steal(item_of(interface, name));
  return found.is_none() ? nb::object() : found;
}

nb::object needed(nb::handle interface, const Name& name) {
  nb::object found = member(interface, name);
  if (!found.is_valid()) throw Refusal{"without", nb::borrow(name.ptr())};
  return found;
}

/// What both interfaces contain. Source: NumPy's documentation, "The array interface protocol".
void take_interface(nb::handle interface, Array& array) {
  static const Name mask("mask"), shape("shape"), typestr("typestr"), data("data");
  static const Name strides_name("strides");
  if (member(interface, mask).is_valid()) throw Refusal{"masked"};
  const nb::object lengths = needed(interface, shape);
  take_item(needed(interface, typestr), array);
  const nb::object described = needed(interface, data);
  const nb::object memory = PyTuple_CheckExact(described.ptr())
                                ? described
                                : from_python([&] { return PySequence_Tuple(described.ptr()); });
  if (PyTuple_Size(memory.ptr()) != 2) throw Refusal{"without", nb::str("data")};
  PyObject* const address = PyTuple_GetItem(memory.ptr(), 0);
  array.data = address == Py_None ? nullptr : PyLong_AsVoidPtr(address);
  if (array.data == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  array.read_only = PyObject_IsTrue(PyTuple_GetItem(memory.ptr(), 1)) != 0;
  if (!array.take_lengths(lengths)) throw Refusal{"dimensions"};
  const nb::object strides = member(interface, strides_name);
  if (strides.is_valid() && !array.take_strides(strides)) throw Refusal{"strides"};
}

}  // namespace

nb::object Name::of(nb::handle object) const {
  return from_python([&] { return PyObject_GetAttr(object.ptr(), text_); });
}

nb::object Name::if_any(nb::handle object) const {
  PyObject* const found = into_python([&] { return PyObject_GetAttr(object.ptr(), text_); });
  if (found == nullptr && PyErr_ExceptionMatches(PyExc_AttributeError) == 0)
    throw nb::python_error();
  if (found == nullptr) PyErr_Clear();
  return nb::steal(found);
}

nb::object Name::call_on(nb::handle object) const {
  return from_python([&] { return PyObject_CallMethodObjArgs(object.ptr(), text_, nullptr); });
}

void read_buffer(nb::handle object, Array& array) {
  if (!array.held.take_buffer(object, PyBUF_FULL_RO)) {
    const bool no_buffer = PyObject_CheckBuffer(object.ptr()) == 0;
    const nb::python_error refused;
    throw Refusal{no_buffer ? "no memory" : "buffer", nb::borrow(refused.value())};
  }
  const Py_buffer& buffer = array.held.buffer();
  if (buffer.suboffsets != nullptr) throw Refusal{"table"};
  array.read_only = buffer.readonly != 0;
  if (PyByteArray_CheckExact(object.ptr())) array.host_kind = MemoryKind::pageable;
  array.data = buffer.buf;
  const std::string_view format = buffer.format == nullptr ? "B" : buffer.format;
  const bool contiguous = PyBuffer_IsContiguous(&buffer, 'C') != 0;
  if (buffer.ndim == 1 && contiguous && is_raw(format))
    return array.take_bytes(buffer.buf, static_cast<std::size_t>(buffer.len));
  if (format.find('O') != std::string_view::npos) throw Refusal{"objects"};
  take_format(format, buffer.itemsize, array.item);
  if (!array.take_shape(numbers(buffer.shape), buffer.ndim)) throw Refusal{"dimensions"};
  array.finish(numbers(buffer.strides), 8);
}

void read_pointer(nb::handle object, bool on_device, Array& array) {
  static const Name pointer("pointer"), nbytes("nbytes");
  const nb::object address = pointer.of(object);
  const nb::object size = nbytes.of(object);
  array.take_bytes(PyLong_AsVoidPtr(address.ptr()), PyLong_AsSize_t(size.ptr()));
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  array.place = on_device ? Place::device : Place::host;
}

void read_numpy(nb::handle object, Array& array) {
  static const Name array_struct("__array_struct__"), dtype("dtype"), str("str");
  nb::object capsule = array_struct.of(object);
  const auto* const found =
      static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (found == nullptr) throw nb::python_error();
  array.held.take_owner(std::move(capsule));  // it owns the shape, and keeps the array
  array.data = found->data;
  array.read_only = found->flags == 0 ? !is_writable(object) : (found->flags & kWritable) == 0;
  const bool own_number = (found->flags & kNativeOrder) != 0 &&
                          !(found->kind == 'f' && found->item_bytes == 1) &&
                          take_number(found->kind, found->item_bytes, array.item);
  if (!own_number) {
    if (found->kind == 'O' || found->kind == 'T') throw Refusal{"objects"};
    take_item(str.of(dtype.of(object)), array);
    take_dtype(object, array.item);
  }
  if (!array.take_shape(numbers(found->shape), found->num_dimensions)) throw Refusal{"dimensions"};
  array.finish((found->flags & kContiguous) != 0 ? nullptr : numbers(found->strides), 8);
}

void read_array_interface(nb::handle object, nb::handle interface, Array& array) {
  static const Name mask("_mask");
  if (mask.if_any(object).is_valid()) throw Refusal{"masked"};
  take_interface(interface, array);
  take_dtype(object, array.item);
  array.finish();
}

void read_cuda_interface(nb::handle object, nb::handle interface, Array& array) {
  static const Name version("version"), stream("stream");
  if (PyMapping_Check(interface.ptr()) == 0) throw Refusal{"no dictionary"};
  const nb::object its_version = member(interface, version);
  if (its_version.is_valid() && PyLong_AsLong(its_version.ptr()) > kNewestCudaInterface)
    throw Refusal{"version", its_version};
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  take_interface(interface, array);
  array.place = Place::device;
  array.finish();
  const nb::object pending = member(interface, stream);
  if (!pending.is_valid()) return;
  array.use = Use::named;
  array.stream = PyLong_Check(pending.ptr()) ? PyLong_AsSize_t(pending.ptr()) : 0;
  PyErr_Clear();
  // 0 is forbidden, because it could mean either default stream.
  if (array.stream == 0 || array.stream == static_cast<std::uintptr_t>(-1))
    throw Refusal{"stream", pending};
}
