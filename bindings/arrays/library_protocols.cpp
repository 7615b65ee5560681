// Protocols of libraries: DLPack, PyTorch's exchange API, CuPy's attributes.
#include <string>
#include <string_view>
#include <utility>

#include "bindings/arrays/protocols.hpp"

namespace nb = nanobind;

namespace {

long long number(nb::handle object, const Name& name) {
  const long long value = PyLong_AsLongLong(name.of(object).ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return value;
}

bool answer(nb::handle object, const Name& question) {
  return question.call_on(object).ptr() != Py_False;
}

/// False in torch.no_grad(), where PyTorch's own copy_ writes parameters, too.
bool records_gradients() {
  static const Name is_grad_enabled("is_grad_enabled");
  return answer(nb::module_::import_("torch"), is_grad_enabled);
}

/// True for what torch.inference_mode() made, outside of it: PyTorch's own copy_ doesn't write it.
bool belongs_to_inference(nb::handle tensor) {
  static const Name version("_version"), is_inference("is_inference");
  static const Name is_inference_mode_enabled("is_inference_mode_enabled");
  // It has no version: asking for that takes others a third of the time of is_inference().
  PyObject* const found =
      into_python([&] { return PyObject_GetAttr(tensor.ptr(), version.ptr()); });
  if (nb::steal(found).is_valid()) return false;
  PyErr_Clear();
  return answer(tensor, is_inference) &&
         !answer(nb::module_::import_("torch"), is_inference_mode_enabled);
}

}  // namespace

Place place_of_dlpack(int device_type) {
  switch (device_type) {
    case dlpack::kCpu:
      return Place::host;
    case dlpack::kCudaHost:
      return Place::pinned;
    case dlpack::kCuda:
      return Place::device;
    case dlpack::kCudaManaged:
      return Place::managed;
    default:
      throw Refusal{"foreign device", nb::int_(device_type)};
  }
}

void take_dlpack(const dlpack::Tensor& tensor, Array& array) {
  array.place = place_of_dlpack(tensor.device.type);
  array.data = static_cast<char*>(tensor.data) + tensor.offset_bytes;
  array.item.code = tensor.type_code;
  array.item.bits = std::int64_t{tensor.item_bits} * tensor.item_lanes;
  array.item.lanes = tensor.item_lanes;
  if (array.on_device()) array.device = tensor.device.id;
  if (!array.take_shape(tensor.shape, tensor.num_dimensions)) throw Refusal{"dimensions"};
  array.finish(tensor.strides, array.item.bits);
  if (tensor.data == nullptr && array.size_bytes != 0) throw Refusal{"null"};
}

void take_capsule(nb::handle capsule, Array& array) {
  array.held.take_owner(nb::borrow(capsule));
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kName) != 0) {
    const void* const managed = PyCapsule_GetPointer(capsule.ptr(), dlpack::kName);
    return take_dlpack(static_cast<const dlpack::ManagedTensor*>(managed)->tensor, array);
  }
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kVersionedName) == 0) throw Refusal{"capsule"};
  const auto& versioned = *static_cast<const dlpack::VersionedTensor*>(
      PyCapsule_GetPointer(capsule.ptr(), dlpack::kVersionedName));
  const dlpack::Version version = versioned.version;
  if (version.major != dlpack::kKnownMajor)
    throw Refusal{
        "capsule version",
        nb::str((std::to_string(version.major) + "." + std::to_string(version.minor)).c_str())};
  if ((versioned.flags & dlpack::kReadOnly) != 0) array.read_only = true;
  take_dlpack(versioned.tensor, array);
}

void require_plain_tensor(nb::handle tensor, int type_code, Role role) {
  static const Name is_conj("is_conj"), is_neg("is_neg"), requires_grad("requires_grad");
  if (role == Role::target && belongs_to_inference(tensor)) throw Refusal{"inference"};
  // Only floating-point and complex numbers can have a pending sign or a gradient, and only complex
  // ones a conjugation. Asking takes as long as everything else here.
  if (type_code == dlpack::kInt || type_code == dlpack::kUnsigned || type_code == dlpack::kBool)
    return;
  const bool may_be_complex = type_code == dlpack::kComplex || type_code == Item::kAny;
  if (may_be_complex && answer(tensor, is_conj)) throw Refusal{"conjugated"};
  if (answer(tensor, is_neg)) throw Refusal{"negated"};
  if (role == Role::target && requires_grad.of(tensor).ptr() != Py_False && records_gradients())
    throw Refusal{"gradient"};
}

void read_torch(nb::handle object, const dlpack::Exchange& exchange, Role role, Hold hold,
                Array& array) {
  static const Name untyped_storage("untyped_storage");
  dlpack::Tensor tensor{};
  array.is_tensor = true;
  if (into_python([&] { return exchange.borrow(object.ptr(), &tensor); }) != 0)
    throw nb::python_error();
  // The tensor may get other memory meanwhile (tensor.data = ..., tensor.set_()).
  if (hold == Hold::copy) array.held.take_owner(untyped_storage.call_on(object));
  require_plain_tensor(object, tensor.type_code, role);
  take_dlpack(tensor, array);
  if (!array.on_device()) return;
  void* stream = nullptr;
  if (exchange.current_stream(dlpack::kCuda, tensor.device.id, &stream) != 0)
    throw nb::python_error();
  array.use = Use::library;
  array.stream = reinterpret_cast<std::uintptr_t>(stream);
}

void read_cupy(nb::handle object, nb::handle current_stream, Array& array) {
  static const Name data("data"), ptr("ptr"), dtype("dtype"), kind("kind"), itemsize("itemsize");
  static const Name shape("shape"), strides("strides"), device_id("device_id"), str("str");
  static const Name contiguous("_c_contiguous");
  const nb::object memory = data.of(object);
  const nb::object type = dtype.of(object);
  const nb::object letter = kind.of(type);
  const nb::object device = device_id.of(memory);
  const char* const letter_text = PyUnicode_AsUTF8AndSize(letter.ptr(), nullptr);
  if (letter_text == nullptr) throw nb::python_error();
  if (!take_number(letter_text[0], number(type, itemsize), array.item) &&
      !take_typestr(nb::cast<const char*>(str.of(type)), array.item))
    throw Refusal{"typestr", str.of(type)};
  if (!array.take_lengths(shape.of(object))) throw Refusal{"dimensions"};
  if (contiguous.of(object).ptr() != Py_True && !array.take_strides(strides.of(object)))
    throw Refusal{"strides"};
  array.finish();
  const nb::object stream = from_python([&] { return call_with(current_stream, device); });
  array.data = reinterpret_cast<void*>(number(memory, ptr));
  array.place = Place::device;
  array.device = static_cast<int>(PyLong_AsLong(device.ptr()));
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  array.use = Use::library;
  array.stream = static_cast<std::uintptr_t>(number(stream, ptr));
  array.held.take_owner(memory);
}
