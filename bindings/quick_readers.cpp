#include "quick_array.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <string_view>
#include <utility>

namespace nb = nanobind;

namespace {

// What __array_struct__ gives. Source: NumPy's documentation, "The array interface protocol".
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

/// An attribute's name, made once.
class Name {
public:
  explicit Name(const char* text) : text_(PyUnicode_InternFromString(text)) {}
  nb::object of(nb::handle object) const {
    return nb::steal(PyObject_GetAttr(object.ptr(), text_));
  }
  PyObject* ptr() const { return text_; }

private:
  PyObject* text_;
};

/// An int attribute; -1 with a Python error if there is none.
long long number(nb::handle object, const Name& name) {
  const nb::object value = name.of(object);
  return value.is_valid() ? PyLong_AsLongLong(value.ptr()) : -1;
}

bool is_true(nb::handle object, const Name& name) {
  const nb::object value = name.of(object);
  return value.ptr() == Py_True;
}

bool is_false(nb::handle object, const Name& name) {
  const nb::object value = name.of(object);
  return value.ptr() == Py_False;
}

/// Strides in items; null is C-contiguous.
bool without_gaps(const dlpack::Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t expected = 1;
  for (int i = tensor.num_dimensions - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// The kind of item of a buffer's format, as NumPy names kinds; 0 if it isn't a plain one.
char kind_of_format(const char* format) {
  if (format == nullptr || format[0] == '\0' || format[1] != '\0') return 0;
  constexpr std::string_view kSigned = "bhilqn";
  constexpr std::string_view kUnsigned = "BHILQN";
  constexpr std::string_view kFloats = "efd";
  if (kSigned.find(format[0]) != std::string_view::npos) return 'i';
  if (kUnsigned.find(format[0]) != std::string_view::npos) return 'u';
  if (kFloats.find(format[0]) != std::string_view::npos) return 'f';
  return format[0] == '?' ? 'b' : '\0';
}

}  // namespace

/// False if the items aren't numbers.
bool QuickArray::take_items(char kind, std::int64_t item_bytes) {
  switch (kind) {
    case 'i':
      type_code = dlpack::kInt;
      break;
    case 'u':
      type_code = dlpack::kUnsigned;
      break;
    case 'f':
      type_code = dlpack::kFloat;
      break;
    case 'c':
      type_code = dlpack::kComplex;
      break;
    case 'b':
      type_code = dlpack::kBool;
      break;
    default:
      return false;
  }
  item_bits = static_cast<int>(item_bytes * 8);
  return true;
}

/// Of a tuple of integers. False if it is none, or longer than usual.
bool QuickArray::take_shape(nb::handle lengths) {
  if (!PyTuple_CheckExact(lengths.ptr())) return false;
  const Py_ssize_t count = PyTuple_GET_SIZE(lengths.ptr());
  if (count > static_cast<Py_ssize_t>(std::size(own_shape_))) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    own_shape_[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(lengths.ptr(), i));
  num_dimensions = static_cast<int>(count);
  shape = own_shape_;
  return PyErr_Occurred() == nullptr;
}

void QuickArray::count_bytes() {
  std::int64_t num_items = 1;
  for (int i = 0; i < num_dimensions; ++i) num_items *= shape[i];
  size_bytes = static_cast<std::size_t>(num_items) * static_cast<std::size_t>(item_bits) / 8;
}

bool TypeReaders::read_buffer(nb::handle object, QuickArray& array) {
  if (!array.held.take_buffer(object, PyBUF_RECORDS_RO)) return false;
  const Py_buffer& buffer = array.held.buffer();
  if (PyBuffer_IsContiguous(&buffer, 'C') == 0) return false;
  array.data = buffer.buf;
  array.size_bytes = static_cast<std::size_t>(buffer.len);
  array.read_only = buffer.readonly != 0;
  if (PyByteArray_CheckExact(object.ptr())) array.host_kind = isthmus::MemoryKind::pageable;
  const char kind = kind_of_format(buffer.format);
  if (kind == 'u' && buffer.itemsize == 1 && buffer.ndim == 1) return true;  // plain bytes
  array.num_dimensions = buffer.ndim;
  array.shape = reinterpret_cast<const std::int64_t*>(buffer.shape);
  return array.take_items(kind, buffer.itemsize);
}

bool TypeReaders::read_numpy(nb::handle object, QuickArray& array) {
  static const Name array_struct("__array_struct__");
  nb::object capsule = array_struct.of(object);
  if (!capsule.is_valid()) return false;
  const auto* const found =
      static_cast<const ArrayStruct*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  array.held.take_owner(std::move(capsule));  // it owns the shape, and keeps the array
  constexpr int kNeeded = kContiguous | kNativeOrder;
  if (found == nullptr || (found->flags & kNeeded) != kNeeded) return false;
  array.data = found->data;
  array.read_only = (found->flags & kWritable) == 0;
  array.num_dimensions = found->num_dimensions;
  array.shape = reinterpret_cast<const std::int64_t*>(found->shape);
  if (!array.take_items(found->kind, found->item_bytes)) return false;
  array.count_bytes();
  return true;
}

namespace {

/// What PyTorch keeps beside the bytes: a gradient to come, a minus sign. Only numbers with a
/// fraction have either, and to ask for both takes as long as the rest.
bool is_more_than_its_bytes(nb::handle tensor, int type_code, TypeReaders::Role role) {
  static const Name is_neg("is_neg");
  static const Name requires_grad("requires_grad");
  const bool has_fraction =
      type_code != dlpack::kInt && type_code != dlpack::kUnsigned && type_code != dlpack::kBool;
  if (!has_fraction) return false;
  const bool is_target = role == TypeReaders::Role::target;
  if (is_target && !is_false(tensor, requires_grad)) return true;
  const nb::object negated = nb::steal(PyObject_CallMethodNoArgs(tensor.ptr(), is_neg.ptr()));
  return negated.ptr() != Py_False;
}

/// A tensor of its own on the same memory. It keeps that when the first is given another
/// (tensor.data = ..., tensor.set_()); to make it takes longer than all the rest.
nb::object alias_of(nb::handle tensor) {
  static const Name detach("detach");
  return nb::steal(PyObject_CallMethodNoArgs(tensor.ptr(), detach.ptr()));
}

}  // namespace

bool TypeReaders::read_torch(const Reader& reader, nb::handle object, Role role, Hold hold,
                             QuickArray& array) {
  dlpack::Tensor tensor{};
  const nb::object alias = hold == Hold::copy ? alias_of(object) : nb::borrow(object);
  if (!alias.is_valid() || reader.exchange->borrow(alias.ptr(), &tensor) != 0) return false;
  array.held.take_owner(alias);
  // Complex tensors may have their conjugation still before them; isthmus.arrays looks.
  const bool plain = tensor.item_lanes == 1 && tensor.item_bits % 8 == 0 &&
                     tensor.type_code != dlpack::kComplex && without_gaps(tensor);
  if (!plain || is_more_than_its_bytes(object, tensor.type_code, role)) return false;
  array.data = static_cast<char*>(tensor.data) + tensor.offset_bytes;
  array.num_dimensions = tensor.num_dimensions;
  array.shape = tensor.shape;
  array.type_code = tensor.type_code;
  array.item_bits = tensor.item_bits;
  array.count_bytes();
  if (tensor.device.type == dlpack::kCpu || tensor.device.type == dlpack::kCudaHost) return true;
  array.on_device = true;
  void* stream = nullptr;
  if (tensor.device.type != dlpack::kCuda ||
      reader.exchange->current_stream(dlpack::kCuda, tensor.device.id, &stream) != 0)
    return false;
  array.stream = reinterpret_cast<std::uintptr_t>(stream);
  array.device = tensor.device.id;
  return true;
}

bool TypeReaders::read_cupy(const Reader& reader, nb::handle object, QuickArray& array) {
  static const Name contiguous("_c_contiguous"), data("data"), ptr("ptr"), dtype("dtype");
  static const Name kind("kind"), itemsize("itemsize"), shape("shape"), device_id("device_id");
  if (!is_true(object, contiguous)) return false;
  const nb::object memory = data.of(object);
  const nb::object type = dtype.of(object);
  const nb::object lengths = shape.of(object);
  if (!memory.is_valid() || !type.is_valid() || !lengths.is_valid()) return false;
  const nb::object letter = kind.of(type);
  const nb::object device = device_id.of(memory);
  if (!letter.is_valid() || !device.is_valid()) return false;
  const nb::object stream =
      nb::steal(PyObject_CallOneArg(reader.current_stream.ptr(), device.ptr()));
  if (!stream.is_valid() || !array.take_shape(lengths)) return false;
  array.data = reinterpret_cast<void*>(number(memory, ptr));
  array.on_device = true;
  array.stream = static_cast<std::uintptr_t>(number(stream, ptr));
  array.device = static_cast<int>(PyLong_AsLong(device.ptr()));
  const char* const letter_text = PyUnicode_AsUTF8(letter.ptr());
  if (letter_text == nullptr || !array.take_items(letter_text[0], number(type, itemsize)))
    return false;
  array.count_bytes();
  array.held.take_owner(memory);
  return PyErr_Occurred() == nullptr;
}

bool TypeReaders::read_pointer(const Reader& reader, nb::handle object, QuickArray& array) {
  static const Name pointer("pointer"), nbytes("nbytes");
  const nb::object address = pointer.of(object);
  const nb::object size = nbytes.of(object);
  if (!address.is_valid() || !size.is_valid()) return false;
  array.data = PyLong_AsVoidPtr(address.ptr());
  array.size_bytes = PyLong_AsSize_t(size.ptr());
  array.on_device = reader.on_device;
  return PyErr_Occurred() == nullptr;
}

namespace {

/// A member of a dictionary; null if it isn't there, or None.
PyObject* member(nb::handle dictionary, const Name& name) {
  PyObject* const found = PyDict_GetItemWithError(dictionary.ptr(), name.ptr());
  return found == Py_None ? nullptr : found;
}

/// "<f4" is 'f' and 4; 0 and 0 if it isn't of native order, or longer.
std::pair<char, int> items_of(const char* typestr) {
  if (typestr == nullptr) return {'\0', 0};
  const std::string_view text(typestr);
  constexpr char kNativeSign = std::endian::native == std::endian::little ? '<' : '>';
  if (text.size() < 3 || (text[0] != kNativeSign && text[0] != '|')) return {'\0', 0};
  int item_bytes = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 2, end, item_bytes);
  return read.ptr == end ? std::pair(text[1], item_bytes) : std::pair('\0', 0);
}

}  // namespace

bool TypeReaders::read_cuda_interface(nb::handle object, QuickArray& array) {
  static const Name interface_name("__cuda_array_interface__"), version("version"), mask("mask");
  static const Name strides("strides"), shape("shape"), typestr("typestr"), data("data");
  static const Name stream("stream");
  const nb::object interface = interface_name.of(object);
  if (!interface.is_valid() || !PyDict_CheckExact(interface.ptr())) return false;
  PyObject* const number_of_version = member(interface, version);
  if (member(interface, mask) != nullptr || member(interface, strides) != nullptr ||
      number_of_version == nullptr || PyLong_AsLong(number_of_version) > 3)
    return false;
  PyObject* const memory = member(interface, data);
  PyObject* const type = member(interface, typestr);
  PyObject* const lengths = member(interface, shape);
  if (memory == nullptr || type == nullptr || lengths == nullptr) return false;
  if (!PyTuple_CheckExact(memory) || PyTuple_GET_SIZE(memory) != 2) return false;
  const auto [kind, item_bytes] = items_of(PyUnicode_AsUTF8(type));
  if (!array.take_items(kind, item_bytes) || !array.take_shape(lengths)) return false;
  array.data = PyLong_AsVoidPtr(PyTuple_GET_ITEM(memory, 0));
  array.read_only = PyObject_IsTrue(PyTuple_GET_ITEM(memory, 1)) != 0;
  array.on_device = true;
  array.count_bytes();
  PyObject* const pending = member(interface, stream);
  if (pending != nullptr) array.stream = PyLong_AsSize_t(pending);
  // 0 isn't allowed to be named, so it was none.
  return PyErr_Occurred() == nullptr && (pending == nullptr || array.stream != 0);
}
