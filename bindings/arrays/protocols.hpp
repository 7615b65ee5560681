// The protocols by which objects show their memory. Each function throws a Refusal, or
// nanobind::python_error with what the object itself has raised.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "arrays/reader.hpp"
#include "gil.hpp"

/// An attribute's name, made once.
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

/// What a call of Python's C interface that may run Python code has returned: a new reference.
/// Throws nanobind::python_error if it is null.
template <typename Call>
nanobind::object from_python(Call&& call) {
  PyObject* const result = into_python(std::forward<Call>(call));
  if (result == nullptr) throw nanobind::python_error();
  return nanobind::steal(result);
}

void read_buffer(nanobind::handle object, Array& array);
void read_pointer(nanobind::handle object, bool on_device, Array& array);
/// A NumPy array, by __array_struct__.
void read_numpy(nanobind::handle object, Array& array);
/// What __array_interface__ and __cuda_array_interface__ say.
void read_array_interface(nanobind::handle object, nanobind::handle interface, Array& array);
void read_cuda_interface(nanobind::handle object, nanobind::handle interface, Array& array);
/// A tensor of PyTorch 2.10 or later, by the exchange API of its type.
void read_torch(nanobind::handle object, const dlpack::Exchange& exchange, Role role, Hold hold,
                Array& array);
/// An array of CuPy, by its attributes.
void read_cupy(nanobind::handle object, nanobind::handle current_stream, Array& array);
/// Refuses a tensor of PyTorch whose memory holds something else than it means, or that can't be
/// written without autograd.
void require_plain_tensor(nanobind::handle tensor, int type_code, Role role);
/// What a DLPack tensor says, but for its stream. The tensor's shape must live as long as `held`.
void take_dlpack(const dlpack::Tensor& tensor, Array& array);
/// What a capsule of DLPack 0.8 or 1.x says. The capsule stays unused, so that its own destructor
/// gives the memory back: who keeps the capsule keeps the memory.
void take_capsule(nanobind::handle capsule, Array& array);
Place place_of_dlpack(int device_type);
