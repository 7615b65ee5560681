// HostBuffer: what the buffer protocol says of an object, for Python code to judge.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <isthmus/errors.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// Holds an object's buffer. Made and destroyed with the GIL held.
class HostBuffer {
public:
  explicit HostBuffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_FULL_RO) != 0) throw nb::python_error();
    if (buffer_.suboffsets == nullptr) return;
    PyBuffer_Release(&buffer_);
    throw isthmus::UsageError("this buffer is a table of pointers, not one piece of memory");
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() { PyBuffer_Release(&buffer_); }

  std::uintptr_t pointer() const { return reinterpret_cast<std::uintptr_t>(buffer_.buf); }
  std::vector<Py_ssize_t> shape() const { return {buffer_.shape, buffer_.shape + buffer_.ndim}; }
  std::vector<Py_ssize_t> strides() const {
    return {buffer_.strides, buffer_.strides + buffer_.ndim};
  }
  std::string format() const { return buffer_.format == nullptr ? "B" : buffer_.format; }
  Py_ssize_t item_bytes() const { return buffer_.itemsize; }
  bool read_only() const { return buffer_.readonly != 0; }

private:
  Py_buffer buffer_{};
};

}  // namespace

void bind_host_buffer(nb::module_& m) {
  nb::class_<HostBuffer>(m, "HostBuffer", "An object's buffer, held while this lives.")
      .def(nb::init<nb::handle>(), "owner"_a)
      .def_prop_ro("pointer", &HostBuffer::pointer)
      .def_prop_ro("shape", &HostBuffer::shape)
      .def_prop_ro("strides", &HostBuffer::strides, "In bytes.")
      .def_prop_ro("format", &HostBuffer::format, "As the struct module writes it.")
      .def_prop_ro("item_bytes", &HostBuffer::item_bytes)
      .def_prop_ro("read_only", &HostBuffer::read_only);
}
