// The bytes of a Python object, during a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

#include "bindings/arrays/export.hpp"

/// Borrows an object's bytes by the buffer protocol: C-contiguous, any item type. There is a fast
/// path for `bytes`. Created and destroyed with the GIL held; the bytes may be accessed without it.
class HostBytes {
public:
  enum class Access { readable, writable };
  /// Throws      UsageError if they are not C-contiguous or, for Access::writable, read-only;
  ///             nanobind::type_error if the object has no bytes.
  HostBytes(nanobind::handle object, Access access);
  HostBytes(const HostBytes&) = delete;
  HostBytes& operator=(const HostBytes&) = delete;

  void* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }

private:
  void borrow(nanobind::handle object, Access access);

  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  Export held_;
};
