// The protocols by which objects offer their memory. Each function throws a Refusal, or
// nanobind::python_error if the object itself has raised.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "bindings/arrays/reader.hpp"
#include "bindings/gil.hpp"

/// An attribute's name, created once.
class Name {
public:
  explicit Name(const char* text) : text_(PyUnicode_InternFromString(text)) {}
  /// The attribute. Throws nanobind::python_error if there is none.
  nanobind::object of(nanobind::handle object) const;
  /// The attribute, or an invalid object if there is none.
  nanobind::object if_any(nanobind::handle object) const;
  /// What a method without arguments returns.
  nanobind::object call_on(nanobind::handle object) const;
  PyObject* ptr() const noexcept { return text_; }

private:
  PyObject* text_;
};

/// Returns the result of a Python C API call that may run Python code: a new reference. Throws
/// nanobind::python_error if it is null.
template <typename Call>
nanobind::object from_python(Call&& call) {
  PyObject* const result = into_python(std::forward<Call>(call));
  if (result == nullptr) throw nanobind::python_error();
  return nanobind::steal(result);
}

/// Calls a function with one argument. PyObject_CallOneArg isn't in the stable ABI.
inline PyObject* call_with(nanobind::handle function, nanobind::handle argument) {
  PyObject* const arguments[] = {argument.ptr()};
  return PyObject_Vectorcall(function.ptr(), arguments, 1, nullptr);
}

void read_buffer(nanobind::handle object, Array& array);
void read_pointer(nanobind::handle object, bool on_device, Array& array);
/// A NumPy array, by __array_struct__.
void read_numpy(nanobind::handle object, Array& array);
/// Read __array_interface__ and __cuda_array_interface__.
void read_array_interface(nanobind::handle object, nanobind::handle interface, Array& array);
void read_cuda_interface(nanobind::handle object, nanobind::handle interface, Array& array);
/// A tensor of PyTorch 2.10 or later, by the exchange API of its type.
void read_torch(nanobind::handle object, const dlpack::Exchange& exchange, Role role, Hold hold,
                Array& array);
/// An array of CuPy, by its attributes.
void read_cupy(nanobind::handle object, nanobind::handle current_stream, Array& array);
/// Refuses a PyTorch tensor whose memory doesn't hold its values directly, or that can't be written
/// without autograd.
void require_plain_tensor(nanobind::handle tensor, int type_code, Role role);
/// Reads a DLPack tensor, except for its stream. The tensor's shape must live as long as `held`.
void take_dlpack(const dlpack::Tensor& tensor, Array& array);
/// Reads a DLPack capsule, 0.8 or 1.x. The capsule isn't marked as used, so its own destructor
/// frees the memory: keeping the capsule keeps the memory.
void take_capsule(nanobind::handle capsule, Array& array);
Place place_of_dlpack(int device_type);
