// Keeps an array's memory in place.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

#include "bindings/gil.hpp"

/// Guarantees that an array's memory isn't moved, shrunk or freed: a buffer of the buffer protocol,
/// or an object that owns the memory. Created, moved and destroyed with the GIL held.
class Export {
public:
  Export() = default;
  Export(Export&& other) noexcept
      : buffer_(std::exchange(other.buffer_, Py_buffer{})), owner_(std::move(other.owner_)) {}
  Export& operator=(Export&&) = delete;
  ~Export() {
    into_python([this] {
      if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
      owner_.reset();
    });
  }

  /// Takes a buffer. This object must not have one yet.
  ///
  /// flags       PyBUF_*
  /// Returns     false, with a Python error
  bool take_buffer(nanobind::handle object, int flags) {
    return into_python([&] { return PyObject_GetBuffer(object.ptr(), &buffer_, flags) == 0; });
  }
  /// Its shape and strides are valid until this object is moved.
  const Py_buffer& buffer() const noexcept { return buffer_; }
  /// False if it keeps nothing: the memory belongs to the object itself.
  bool keeps_something() const noexcept { return buffer_.obj != nullptr || owner_.is_valid(); }
  void take_owner(nanobind::object owner) noexcept { owner_ = std::move(owner); }

private:
  Py_buffer buffer_{};
  nanobind::object owner_;
};
