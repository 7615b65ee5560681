#include "bindings/memory/python_window.hpp"
#include "bindings/gil.hpp"

#include <isthmus/errors.hpp>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "bindings/transfer/host_bytes.hpp"

namespace nb = nanobind;
using isthmus::UsageError;
using isthmus::Window;

namespace {

// Releasing and reacquiring the GIL costs more than a small copy, and other threads wait no longer
// than the copy takes: some microseconds at these sizes. Measured: benchmarks/windows.
constexpr std::size_t kUnlockedWriteBytes = 64 << 10;
constexpr std::size_t kUnlockedReadBytes = 16 << 10;

/// Raises      TypeError, with what it is for, if it isn't an integer; OverflowError
Py_ssize_t integer_of(nb::handle number, const char* what) {
  const Py_ssize_t value = PyNumber_AsSsize_t(number.ptr(), PyExc_OverflowError);
  if (value != -1 || PyErr_Occurred() == nullptr) [[likely]]
    return value;
  if (PyIndex_Check(number.ptr()) == 0) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s must be an integer, not %R", what, number.ptr());
  }
  throw nb::python_error();
}

std::size_t checked_offset(nb::handle offset) {
  const Py_ssize_t offset_bytes = integer_of(offset, "the offset in bytes");
  if (offset_bytes < 0) [[unlikely]]
    throw UsageError("the offset " + std::to_string(offset_bytes) +
                     " is negative: it counts bytes from the window's start");
  return static_cast<std::size_t>(offset_bytes);
}

/// Bytes to read: `size`, or all from the offset on if it is None.
std::size_t checked_size(nb::handle size, std::size_t offset_bytes, std::size_t window_bytes) {
  if (size.is_none()) return offset_bytes < window_bytes ? window_bytes - offset_bytes : 0;
  const Py_ssize_t count = integer_of(size, "the number of bytes");
  if (count < 0) throw UsageError("can't read " + std::to_string(count) + " bytes");
  return static_cast<std::size_t>(count);
}

}  // namespace

PythonWindow::PythonWindow(Window&& window, nb::object owner, bool read_only)
    : size_bytes_(window.size_bytes()),
      device_pointer_(window.device_pointer()),
      read_only_(read_only),
      backend_(name_of(window.backend())),
      instructions_(window.instructions()) {
  open_ = std::make_shared<OpenWindow>(std::move(window), std::move(owner));
}

Window& PythonWindow::opened() const {
  if (open_ == nullptr) [[unlikely]]
    throw UsageError("the window is closed: open another one");
  return open_->window;
}

Window& PythonWindow::writable() const {
  if (read_only_) [[unlikely]]
    throw UsageError("the window is read-only, because the array that it maps says so");
  return opened();
}

template <typename Copy>
void PythonWindow::copy(std::size_t size_bytes, std::size_t unlocked_from_bytes,
                        Copy copy_bytes) const {
  if (size_bytes < unlocked_from_bytes) return copy_bytes();
  const std::shared_ptr<OpenWindow> held = open_;
  const GilReleased released;
  copy_bytes();
}

// Each converts its arguments first: that may run Python code, which may close this window.

void PythonWindow::write(nb::handle data, nb::handle offset) const {
  const HostBytes source(data, HostBytes::Access::readable);
  const std::size_t offset_bytes = checked_offset(offset);
  Window& window = writable();
  copy(source.size_bytes(), kUnlockedWriteBytes,
       [&] { window.write(offset_bytes, source.data(), source.size_bytes()); });
}

void PythonWindow::post(nb::handle data, nb::handle offset) const {
  const HostBytes source(data, HostBytes::Access::readable);
  const std::size_t offset_bytes = checked_offset(offset);
  Window& window = writable();
  copy(source.size_bytes(), kUnlockedWriteBytes,
       [&] { window.post(offset_bytes, source.data(), source.size_bytes()); });
}

nb::object PythonWindow::read(nb::handle size, nb::handle offset) const {
  const std::size_t offset_bytes = checked_offset(offset);
  const std::size_t count = checked_size(size, offset_bytes, size_bytes_);
  // Fail before allocating memory for it.
  if (count > size_bytes_) opened().read(nullptr, offset_bytes, count);
  nb::object bytes = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(count)));
  if (!bytes.is_valid()) throw nb::python_error();
  char* const target = PyBytes_AsString(bytes.ptr());
  const Window& window = opened();
  copy(count, kUnlockedReadBytes, [&] { window.read(target, offset_bytes, count); });
  return bytes;
}

void PythonWindow::read_into(nb::handle buffer, nb::handle offset) const {
  const HostBytes target(buffer, HostBytes::Access::writable);
  const std::size_t offset_bytes = checked_offset(offset);
  const Window& window = opened();
  copy(target.size_bytes(), kUnlockedReadBytes,
       [&] { window.read(target.data(), offset_bytes, target.size_bytes()); });
}

std::string PythonWindow::description() const {
  std::array<char, 2 + 2 * sizeof device_pointer_ + 1> address{};
  std::snprintf(address.data(), address.size(), "0x%" PRIxPTR, device_pointer_);
  const std::string state = is_open() ? backend_ + (read_only_ ? ", read-only" : "") : "closed";
  return "<isthmus.Window of " + std::to_string(size_bytes_) + " bytes at " + address.data() +
         ", " + state + ">";
}
