#include "bindings/arrays/array.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <iterator>
#include <utility>

#include "bindings/arrays/dlpack_structs.hpp"
#include "bindings/arrays/protocols.hpp"
#include "bindings/arrays/reader.hpp"

namespace nb = nanobind;

namespace {

constexpr bool kLittle = std::endian::native == std::endian::little;
constexpr char kOwnOrder = kLittle ? '<' : '>';
constexpr char kForeignOrder = kLittle ? '>' : '<';
constexpr std::int64_t kUtf32Bytes = 4;

// Source: DLPack 1.1, DLDataTypeCode.
constexpr const char* kDlpackNames[] = {"int",
                                        "uint",
                                        "float",
                                        "handle",
                                        "bfloat",
                                        "complex",
                                        "bool",
                                        "float8_e3m4",
                                        "float8_e4m3",
                                        "float8_e4m3b11fnuz",
                                        "float8_e4m3fn",
                                        "float8_e4m3fnuz",
                                        "float8_e5m2",
                                        "float8_e5m2fnuz",
                                        "float8_e8m0fnu",
                                        "float6_e2m3fn",
                                        "float6_e3m2fn",
                                        "float4_e2m1fn"};

bool has_bits_in_its_name(int code) {
  return code == dlpack::kInt || code == dlpack::kUnsigned || code == dlpack::kFloat ||
         code == dlpack::kBfloat || code == dlpack::kComplex;
}

bool contains(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

std::string dlpack_name(int code, std::int64_t bits, int lanes) {
  const std::int64_t each = bits / lanes;
  const bool known = code >= 0 && static_cast<std::size_t>(code) < std::size(kDlpackNames);
  std::string name = known ? kDlpackNames[code] : "type" + std::to_string(code) + "_";
  if (!known || has_bits_in_its_name(code)) name += std::to_string(each);
  return lanes == 1 ? name : name + "x" + std::to_string(lanes);
}

void name_it(Item& item, const std::string& name) {
  item.code = Item::kNamed;
  item.named = nb::steal(PyUnicode_FromStringAndSize(name.data(), std::ssize(name)));
  if (!item.named.is_valid()) throw nb::python_error();
}

void note_foreign_order(Item& item) {
  name_it(item, (kLittle ? "big-endian " : "little-endian ") + item.name());
}

/// The word for a NumPy kind that isn't a number.
const char* word_of(char kind) {
  switch (kind) {
    case 'm':
      return "timedelta";
    case 'M':
      return "datetime";
    case 'S':
      return "bytes";
    case 'U':
      return "str";
    default:
      return nullptr;
  }
}

/// The kind, as NumPy's letter, of a format that is a plain number; 0 for others.
char kind_of_format(std::string_view format) {
  constexpr std::string_view signed_kinds = "bhilqn", unsigned_kinds = "BHILQN",
                             floats_kinds = "efdg";
  constexpr std::string_view complex_kinds = "FD";
  if (format == "?") return 'b';
  if (format == "Zf" || format == "Zd" || format == "Zg") return 'c';
  if (format.size() != 1) return '\0';
  if (contains(signed_kinds, format[0])) return 'i';
  if (contains(unsigned_kinds, format[0])) return 'u';
  if (contains(floats_kinds, format[0])) return 'f';
  return contains(complex_kinds, format[0]) ? 'c' : '\0';
}

/// The parts of "<M8[ns]".
struct Typestr {
  char order = '|';
  char kind = '\0';
  std::int64_t count = 0;
  std::string_view unit;
};

/// True if the text is a type string.
bool split(std::string_view text, Typestr& parts) {
  if (!text.empty() && contains("<>|=", text[0])) {
    parts.order = text[0];
    text.remove_prefix(1);
  }
  if (text.size() < 2 || std::isalpha(static_cast<unsigned char>(text[0])) == 0) return false;
  parts.kind = text[0];
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + 1, end, parts.count);
  if (read.ec != std::errc() || parts.count < 0) return false;
  parts.unit = {read.ptr, end};
  return parts.unit.empty() || (parts.unit.front() == '[' && parts.unit.back() == ']');
}

}  // namespace

std::string Item::name() const {
  if (code == kAny) return {};
  if (code == kNamed) return nb::cast<const char*>(named);
  return dlpack_name(code, bits, lanes);
}

bool same_items(const Item& one, const Item& other) {
  if (one.code == Item::kAny || other.code == Item::kAny) return true;
  if (one.code >= 0 && other.code >= 0)
    return one.code == other.code && one.bits == other.bits && one.lanes == other.lanes;
  return one.name() == other.name();
}

bool take_number(char kind, std::int64_t item_bytes, Item& item) {
  switch (kind) {
    case 'i':
      item.code = dlpack::kInt;
      break;
    case 'u':
      item.code = dlpack::kUnsigned;
      break;
    case 'f':
      item.code = dlpack::kFloat;
      break;
    case 'c':
      item.code = dlpack::kComplex;
      break;
    case 'b':
      item.code = dlpack::kBool;
      break;
    default:
      return false;
  }
  item.bits = item_bytes * 8;
  return true;
}

void find_dlpack_code(Item& item) {
  for (int code = 0; code < dlpack::kFloat6; ++code)
    if (dlpack_name(code, item.bits, 1) == item.name()) item.code = code;
}

bool take_typestr(std::string_view text, Item& item) {
  // Nearly always a number with a one-digit size in the machine's byte order.
  const bool usual = text.size() == 3 && (text[0] == kOwnOrder || text[0] == '|') &&
                     text[2] >= '1' && text[2] <= '9';
  if (usual && take_number(text[1], text[2] - '0', item)) return true;
  Typestr parts;
  if (!split(text, parts) || parts.kind == 'O') return false;
  const std::int64_t item_bytes = parts.kind == 'U' ? parts.count * kUtf32Bytes : parts.count;
  item.bits = 8 * item_bytes;
  item.code = Item::kAny;
  const char* const word = word_of(parts.kind);
  if (word != nullptr)
    name_it(item, word + std::to_string(item.bits) + std::string(parts.unit));
  else if (!take_number(parts.kind, item_bytes, item))
    return true;  // untyped bytes
  // A single byte has no byte order, and neither have bytes in a string.
  if (parts.order == kForeignOrder && item_bytes > 1 && parts.kind != 'S') note_foreign_order(item);
  return true;
}

void take_format(std::string_view text, std::int64_t item_bytes, Item& item) {
  char order = '@';
  std::string_view plain = text;
  if (!text.empty() && contains("@=<>!", text[0])) {
    order = text[0] == '!' ? '>' : text[0];
    plain.remove_prefix(1);
  }
  item.bits = 8 * item_bytes;
  if (!take_number(kind_of_format(plain), item_bytes, item))
    return name_it(item, std::string(text));
  if (order == kForeignOrder && item_bytes > 1) note_foreign_order(item);
}

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

OwnArray::OwnArray(std::uintptr_t pointer, const nb::sequence& lengths, nb::handle example)
    : data_(reinterpret_cast<void*>(pointer)) {
  Array read;
  read_numpy(example, read);
  item_ = read.item;
  for (const nb::handle length : lengths) lengths_.push_back(nb::cast<std::int64_t>(length));
}

void OwnArray::read(Array& array) const {
  if (!array.copy_shape(lengths_.data(), static_cast<int>(lengths_.size())))
    throw Refusal{"dimensions"};
  array.item = item_;
  array.data = data_;
  array.place = Place::device;
  array.is_own = true;
  array.finish(nullptr, 8);
}
