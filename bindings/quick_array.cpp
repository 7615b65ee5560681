#include "quick_array.hpp"

#include <algorithm>
#include <string_view>

namespace nb = nanobind;

namespace {

// More types than a program's arrays have; beyond, each call asks isthmus.arrays again.
constexpr std::size_t kMaxTypes = 64;

const dlpack::Exchange* exchange_of(nb::handle capsule) {
  const auto* header = static_cast<const dlpack::ExchangeHeader*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (header != nullptr && header->version.major != dlpack::kKnownMajor)
    header = header->previous;
  const auto* const exchange = reinterpret_cast<const dlpack::Exchange*>(header);
  return exchange != nullptr && exchange->borrow != nullptr ? exchange : nullptr;
}

}  // namespace

TypeReaders::Reader TypeReaders::ask(nb::handle type) const {
  Reader reader{nb::borrow(type), Way::none, nullptr, nb::object()};
  const nb::object answer = reader_of_(type);
  if (answer.is_none()) return reader;
  const std::string_view name = nb::cast<const char*>(answer[0]);
  if (name == "buffer") reader.way = Way::buffer;
  if (name == "numpy") reader.way = Way::numpy;
  if (name == "cuda_interface") reader.way = Way::cuda_interface;
  if (name == "pointer") {
    reader.on_device = nb::cast<bool>(answer[1]);
    reader.way = Way::pointer;
  }
  if (name == "torch") {
    reader.exchange = exchange_of(answer[1]);
    reader.way = reader.exchange == nullptr ? Way::none : Way::torch;
  }
  if (name == "cupy") {
    reader.current_stream = answer[1];
    reader.way = Way::cupy;
  }
  return reader;
}

const TypeReaders::Reader* TypeReaders::reader_for(PyTypeObject* type) {
  for (const Reader& reader : readers_) {
    if (reader.type.ptr() == reinterpret_cast<PyObject*>(type)) return &reader;
  }
  if (readers_.size() == kMaxTypes) return nullptr;
  readers_.reserve(kMaxTypes);  // so that a reader stays where it is while it is used
  Reader reader = ask(reinterpret_cast<PyObject*>(type));
  if (readers_.size() == kMaxTypes) return nullptr;
  return &readers_.emplace_back(std::move(reader));
}

bool TypeReaders::read_by(const Reader& reader, nb::handle object, Role role, Hold hold,
                          QuickArray& array) {
  switch (reader.way) {
    case Way::buffer:
      return read_buffer(object, array);
    case Way::numpy:
      return read_numpy(object, array);
    case Way::pointer:
      return read_pointer(reader, object, array);
    case Way::cuda_interface:
      return read_cuda_interface(object, array);
    case Way::torch:
      return read_torch(reader, object, role, hold, array);
    case Way::cupy:
      return read_cupy(reader, object, array);
    default:
      return false;
  }
}

bool TypeReaders::read(nb::handle object, Role role, Hold hold, QuickArray& array) {
  if (PyBytes_CheckExact(object.ptr())) {
    array.data = PyBytes_AS_STRING(object.ptr());
    array.size_bytes = static_cast<std::size_t>(PyBytes_GET_SIZE(object.ptr()));
    array.read_only = true;
    array.host_kind = isthmus::MemoryKind::pageable;  // the interpreter's: nobody pins it
    return true;
  }
  const bool understood = into_python([&] {
    const Reader* const reader = reader_for(Py_TYPE(object.ptr()));
    return reader != nullptr && read_by(*reader, object, role, hold, array);
  });
  if (PyErr_Occurred() == nullptr) return understood;
  PyErr_Clear();  // isthmus.arrays meets it again, and says more
  return false;
}

namespace {

bool agree(const QuickArray& target, const QuickArray& source) {
  if (target.read_only || target.size_bytes != source.size_bytes) return false;
  const bool same_items =
      target.type_code == QuickArray::kAnyType || source.type_code == QuickArray::kAnyType ||
      (target.type_code == source.type_code && target.item_bits == source.item_bits);
  const bool same_shape =
      target.num_dimensions == QuickArray::kNoShape ||
      source.num_dimensions == QuickArray::kNoShape ||
      (target.num_dimensions == source.num_dimensions &&
       std::equal(target.shape, target.shape + target.num_dimensions, source.shape));
  return same_items && same_shape;
}

}  // namespace

bool read_pair(TypeReaders& readers, nb::handle target, nb::handle source, nb::handle stream,
               Hold hold, QuickPair& pair) {
  using Role = TypeReaders::Role;
  if (!readers.read(target, Role::target, hold, pair.target) ||
      !readers.read(source, Role::source, hold, pair.source) || !agree(pair.target, pair.source))
    return false;
  if (stream.is_none()) {
    // Two libraries, or two devices, may be busy in two streams.
    const bool both = pair.target.on_device && pair.source.on_device;
    if (both &&
        (pair.target.stream != pair.source.stream || pair.target.device != pair.source.device))
      return false;
    pair.stream = pair.target.on_device ? pair.target.stream : pair.source.stream;
    return true;
  }
  if (!PyLong_CheckExact(stream.ptr())) return false;
  pair.stream = PyLong_AsUnsignedLongLong(stream.ptr());
  if (PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  return false;
}
