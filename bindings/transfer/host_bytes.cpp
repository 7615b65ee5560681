#include "bindings/transfer/host_bytes.hpp"

#include <isthmus/errors.hpp>

#include <string>

namespace nb = nanobind;

namespace {

/// The text of the pending Python error; clears it.
std::string pending_error() {
  const nb::python_error error;
  return nb::str(error.value()).c_str();
}

std::string type_of(nb::handle object) { return nb::type_name(object.type()).c_str(); }

}  // namespace

HostBytes::HostBytes(nb::handle object, Access access) {
  if (access == Access::readable && PyBytes_CheckExact(object.ptr())) {
    data_ = PyBytes_AsString(object.ptr());
    size_bytes_ = static_cast<std::size_t>(PyBytes_Size(object.ptr()));
    return;
  }
  borrow(object, access);
}

void HostBytes::borrow(nb::handle object, Access access) {
  if (!PyObject_CheckBuffer(object.ptr())) {
    const std::string message =
        "bytes, a bytearray, a memoryview or a NumPy array is needed, not '" + type_of(object) +
        "'; of a CPU tensor, pass tensor.numpy()";
    throw nb::type_error(message.c_str());
  }
  const int flags = access == Access::writable ? PyBUF_WRITABLE : PyBUF_SIMPLE;
  if (!held_.take_buffer(object, flags)) {
    const char* const needed =
        access == Access::writable ? "writable, C-contiguous" : "C-contiguous";
    std::string why = pending_error();
    if (why.ends_with('.')) why.pop_back();
    throw isthmus::UsageError("can't use the memory of this '" + type_of(object) + "': " + why +
                              "; pass a " + needed + " one");
  }
  data_ = held_.buffer().buf;
  size_bytes_ = static_cast<std::size_t>(held_.buffer().len);
}
