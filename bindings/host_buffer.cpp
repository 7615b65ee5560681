// HostBuffer: what the buffer protocol says of an object, for Python code to judge.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <isthmus/errors.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "export.hpp"
#include "text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

/// Holds an object's buffer. Made and destroyed with the GIL held.
class HostBuffer {
public:
  explicit HostBuffer(nb::handle object) {
    if (!held_.take_buffer(object, PyBUF_FULL_RO)) throw nb::python_error();
    if (buffer().suboffsets == nullptr) return;
    throw isthmus::UsageError("this buffer is a table of pointers, not one piece of memory");
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;

  std::uintptr_t pointer() const { return reinterpret_cast<std::uintptr_t>(buffer().buf); }
  std::vector<Py_ssize_t> shape() const { return {buffer().shape, buffer().shape + buffer().ndim}; }
  std::vector<Py_ssize_t> strides() const {
    return {buffer().strides, buffer().strides + buffer().ndim};
  }
  std::string format() const { return buffer().format == nullptr ? "B" : buffer().format; }
  Py_ssize_t item_bytes() const { return buffer().itemsize; }
  bool read_only() const { return buffer().readonly != 0; }

private:
  const Py_buffer& buffer() const noexcept { return held_.buffer(); }

  Export held_;
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
