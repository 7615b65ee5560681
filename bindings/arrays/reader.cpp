#include "bindings/arrays/reader.hpp"

#include <string_view>
#include <typeinfo>

#include "bindings/arrays/array.hpp"
#include "bindings/arrays/numpy_layout.hpp"
#include "bindings/arrays/protocols.hpp"

namespace nb = nanobind;
using isthmus::MemoryKind;
using Way = TypeReader::Way;

namespace {

// More types than a program's arrays have. For further types, Python is asked each time.
constexpr std::size_t kMaxTypes = 64;
// DLPack forbids 0, which could mean either default stream.
constexpr std::uintptr_t kLegacyDefaultToDlpack = 1;
constexpr int kNoSynchronisation = -1;

const dlpack::Exchange* exchange_of(nb::handle capsule) {
  const auto* header = static_cast<const dlpack::ExchangeHeader*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (header == nullptr) throw nb::python_error();
  while (header != nullptr && header->version.major != dlpack::kKnownMajor)
    header = header->previous;
  const auto* const exchange = reinterpret_cast<const dlpack::Exchange*>(header);
  return exchange != nullptr && exchange->borrow != nullptr ? exchange : nullptr;
}

/// A NumPy array's array interface, if the array owns its memory.
nb::object array_interface_of(nb::handle object) {
  static const Name interface_name("__array_interface__"), data("data");
  nb::object interface = interface_name.if_any(object);
  if (!interface.is_valid() || !PyDict_Check(interface.ptr())) return {};
  PyObject* const memory = PyDict_GetItemWithError(interface.ptr(), data.ptr());
  return memory != nullptr && PyTuple_Check(memory) ? interface : nb::object();
}

Place to_place(nb::handle kind_and_device) {
  return place_of_dlpack(nb::cast<int>(kind_and_device[0]));
}

}  // namespace

TypeReader ArrayReader::ask(nb::handle type) const {
  TypeReader reader{nb::borrow(type)};
  static const Name way_of("way_of");
  const nb::object function = way_of.of(asked_);
  const nb::object answer = from_python([&] { return call_with(function, type); });
  const std::string_view name = nb::cast<const char*>(answer[0]);
  const nb::object detail = answer[1];
  if (name == "buffer") reader.way = Way::buffer;
  if (name == "numpy") {
    reader.known_layout = has_known_layout(detail);
    reader.way = Way::numpy;
  }
  if (name == "cuda_interface") reader.way = Way::cuda_interface;
  if (name == "own") reader.way = Way::own;
  if (name == "structure") reader.way = Way::structure;
  if (name == "pointer") {
    reader.on_device = nb::cast<bool>(detail);
    reader.way = Way::pointer;
  }
  if (name == "torch") {
    reader.exchange = exchange_of(detail);
    reader.way = reader.exchange == nullptr ? Way::any : Way::torch;
  }
  if (name == "cupy") {
    reader.current_stream = detail;
    reader.way = Way::cupy;
  }
  if (name == "dlpack") {
    reader.current_stream = nb::object(detail[0]);
    reader.is_tensor = nb::cast<bool>(detail[1]);
    reader.immutable = nb::cast<bool>(detail[2]);
    reader.way = Way::dlpack;
  }
  return reader;
}

const TypeReader* ArrayReader::reader_for(PyTypeObject* type) const {
  for (const TypeReader& reader : readers_) {
    if (reader.type.ptr() == reinterpret_cast<PyObject*>(type)) return &reader;
  }
  return nullptr;
}

void ArrayReader::keep(const TypeReader& reader) {
  readers_.reserve(kMaxTypes);  // a reader must not move while it is used
  if (readers_.size() < kMaxTypes) readers_.push_back(reader);
}

void ArrayReader::refuse(nb::handle object, const char* reason, nb::handle detail) const {
  static const Name refuse_name("refuse");
  const nb::object function = refuse_name.of(asked_);
  from_python([&] {
    return PyObject_CallFunction(function.ptr(), "OsO", object.ptr(), reason, detail.ptr());
  });
}

template <typename Read>
void ArrayReader::explain_failures(nb::handle object, Read&& read) const {
  try {
    read();
  } catch (const Refusal& refusal) {
    refuse(object, refusal.reason, refusal.detail);
  } catch (nb::python_error& raised) {
    refuse(object, "raised", raised.value());
  } catch (const std::bad_cast&) {
    refuse(object, "no numbers", nb::none());
  }
}

nb::object ArrayReader::exported(nb::handle object, nb::handle device, nb::handle stream) const {
  static const Name export_name("export");
  const nb::object function = export_name.of(asked_);
  return from_python([&] {
    return PyObject_CallFunctionObjArgs(function.ptr(), object.ptr(), device.ptr(), stream.ptr(),
                                        nullptr);
  });
}

void ArrayReader::read(nb::handle object, Role role, Hold hold, Array& array) {
  if (PyBytes_CheckExact(object.ptr())) {
    array.take_bytes(PyBytes_AsString(object.ptr()),
                     static_cast<std::size_t>(PyBytes_Size(object.ptr())));
    array.read_only = true;
    array.host_kind = MemoryKind::pageable;  // the interpreter's own memory: nobody pins it
    return;
  }
  explain_failures(object, [&] {
    const TypeReader* const known = reader_for(Py_TYPE(object.ptr()));
    if (known != nullptr) return read_by(*known, object, role, hold, array);
    const TypeReader reader = ask(object.type());
    keep(reader);
    read_by(reader, object, role, hold, array);
  });
}

void ArrayReader::refuse_structure(nb::handle object) const {
  refuse(object, "no memory", nb::none());
  throw nb::python_error();  // it always raises
}

bool ArrayReader::is_structure(nb::handle object) {
  if (PyBytes_CheckExact(object.ptr())) return false;
  const TypeReader* const known = reader_for(Py_TYPE(object.ptr()));
  if (known != nullptr) return known->way == Way::structure;
  const TypeReader reader = ask(object.type());
  keep(reader);
  return reader.way == Way::structure;
}

nb::object ArrayReader::members_of(nb::handle structure, Role role) const {
  if (PyDict_Check(structure.ptr())) return nb::borrow(structure);
  static const Name members_of_name("members_of");
  const nb::object function = members_of_name.of(asked_);
  const nb::bool_ written(role == Role::target);
  return from_python([&] {
    return PyObject_CallFunctionObjArgs(function.ptr(), structure.ptr(), written.ptr(), nullptr);
  });
}

void ArrayReader::refuse_at(const std::string& path, nb::handle error) const {
  static const Name refuse_at_name("refuse_at");
  const nb::object function = refuse_at_name.of(asked_);
  from_python(
      [&] { return PyObject_CallFunction(function.ptr(), "sO", path.c_str(), error.ptr()); });
  throw nb::python_error();  // the function always raises
}

void ArrayReader::read_by(const TypeReader& reader, nb::handle object, Role role, Hold hold,
                          Array& array) const {
  switch (reader.way) {
    case Way::buffer:
      return read_buffer(object, array);
    case Way::numpy:
      if (reader.known_layout && read_numpy_memory(object, array)) return;
      return read_numpy(object, array);
    case Way::pointer:
      return read_pointer(object, reader.on_device, array);
    case Way::own: {
      static const Name own("_own");
      return nb::cast<const OwnArray&>(own.of(object)).read(array);
    }
    case Way::cuda_interface: {
      static const Name interface("__cuda_array_interface__");
      return read_cuda_interface(object, interface.of(object), array);
    }
    case Way::torch:
      return read_torch(object, *reader.exchange, role, hold, array);
    case Way::cupy:
      return read_cupy(object, reader.current_stream, array);
    case Way::dlpack:
      return read_dlpack(object, reader, role, array);
    case Way::structure:
      throw HoldsArrays{};
    default:
      return read_any(object, reader, role, array);
  }
}

/// Reads an array of any type, by the first protocol that it supports.
void ArrayReader::read_any(nb::handle object, const TypeReader& reader, Role role,
                           Array& array) const {
  static const Name dlpack("__dlpack__"), cuda_interface("__cuda_array_interface__");
  const nb::object interface = array_interface_of(object);
  if (interface.is_valid()) return read_array_interface(object, interface, array);
  if (dlpack.if_any(object).is_valid()) return read_dlpack(object, reader, role, array);
  const nb::object on_device = cuda_interface.if_any(object);
  if (on_device.is_valid() && !on_device.is_none())
    return read_cuda_interface(object, on_device, array);
  read_buffer(object, array);
}

void ArrayReader::read_dlpack(nb::handle object, const TypeReader& reader, Role role,
                              Array& array) const {
  static const Name device_name("__dlpack_device__");
  array.is_tensor = reader.is_tensor;
  if (reader.is_tensor) require_plain_tensor(object, Item::kAny, role);
  const nb::object device = device_name.call_on(object);
  array.place = to_place(device);
  array.read_only = reader.immutable;
  if (!array.on_device()) return take_capsule(exported(object, nb::none(), nb::none()), array);
  array.exported = false;
  array.device = nb::cast<int>(device[1]);
  array.use = Use::unknown;
  if (!reader.current_stream.is_valid() || reader.current_stream.is_none()) return;
  array.use = Use::library;
  const nb::object number = device[1];
  array.stream = nb::cast<std::uintptr_t>(
      from_python([&] { return call_with(reader.current_stream, number); }));
}

void ArrayReader::export_after(nb::handle object, std::optional<std::uintptr_t> stream,
                               Array& array) {
  explain_failures(object, [&] {
    const nb::object told = !stream        ? nb::object(nb::int_(kNoSynchronisation))
                            : *stream == 0 ? nb::object(nb::int_(kLegacyDefaultToDlpack))
                                           : nb::object(nb::int_(*stream));
    const nb::object capsule = exported(object, nb::int_(array.device), told);
    if (array.exported) return;
    take_capsule(capsule, array);
    array.exported = true;
  });
}

void ArrayReader::note_writes(nb::handle tensors) {
  static const Name name("note_writes");
  if (!note_writes_.is_valid()) note_writes_ = name.call_on(asked_);
  from_python([&] { return call_with(note_writes_, tensors); });
}

void ArrayReader::wait_for(const Array& array) const {
  static const Name wait("wait");
  const nb::object function = wait.of(asked_);
  const nb::object device = array.device < 0 ? nb::none() : nb::object(nb::int_(array.device));
  const nb::object stream = nb::int_(array.stream);
  const nb::object pointer = nb::int_(reinterpret_cast<std::uintptr_t>(array.data));
  from_python([&] {
    return PyObject_CallFunctionObjArgs(function.ptr(), stream.ptr(), device.ptr(), pointer.ptr(),
                                        nullptr);
  });
}

std::uintptr_t ArrayReader::own_stream(int device) const {
  static const Name own("own_stream");
  const nb::object function = own.of(asked_);
  const nb::object number = nb::int_(device);
  return nb::cast<std::uintptr_t>(from_python([&] { return call_with(function, number); }));
}

std::uintptr_t ArrayReader::stream_of(nb::handle stream) const {
  if (PyLong_CheckExact(stream.ptr())) {
    const std::uintptr_t handle = PyLong_AsSize_t(stream.ptr());
    if (PyErr_Occurred() == nullptr) return handle;
    PyErr_Clear();  // Python explains what is wrong with it
  }
  static const Name stream_handle("stream_handle");
  const nb::object function = stream_handle.of(asked_);
  return nb::cast<std::uintptr_t>(from_python([&] { return call_with(function, stream); }));
}
