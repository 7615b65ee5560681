// A window as Python holds it: the mapping, and the object whose memory it maps.
#pragma once

#include <nanobind/nanobind.h>

#include <isthmus/window.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bindings/gil.hpp"

/// An open window, and the object that keeps its memory alive. Destroyed with the GIL held;
/// releases it while unmapping, and drops the owner only afterwards.
struct OpenWindow {
  OpenWindow(isthmus::Window&& opened, nanobind::object owned)
      : window(std::move(opened)), owner(std::move(owned)) {}
  OpenWindow(const OpenWindow&) = delete;
  OpenWindow& operator=(const OpenWindow&) = delete;
  ~OpenWindow() {
    const GilReleased released;
    window.close();
  }

  isthmus::Window window;
  nanobind::object owner;
};

/// isthmus.Window. Its functions are called with the GIL held.
///
/// Copies that are long enough to release the GIL share the OpenWindow meanwhile: close() in
/// another thread drops its reference, and the last copy unmaps.
class PythonWindow {
public:
  PythonWindow(isthmus::Window&& window, nanobind::object owner, bool read_only);

  void write(nanobind::handle data, nanobind::handle offset) const;
  void post(nanobind::handle data, nanobind::handle offset) const;
  nanobind::object read(nanobind::handle size, nanobind::handle offset) const;
  void read_into(nanobind::handle buffer, nanobind::handle offset) const;

  void close() noexcept { open_.reset(); }
  bool is_open() const noexcept { return open_ != nullptr; }
  bool is_alive() const { return is_open() && open_->window.buffer_is_alive(); }
  const OpenWindow* open() const noexcept { return open_.get(); }

  std::size_t size_bytes() const noexcept { return size_bytes_; }
  std::uintptr_t device_pointer() const noexcept { return device_pointer_; }
  bool read_only() const noexcept { return read_only_; }
  const std::string& backend() const noexcept { return backend_; }
  const std::string& instructions() const noexcept { return instructions_; }
  std::string description() const;

private:
  template <typename Copy>
  void copy(std::size_t size_bytes, std::size_t unlocked_from_bytes, Copy copy_bytes) const;
  isthmus::Window& opened() const;
  isthmus::Window& writable() const;

  std::shared_ptr<OpenWindow> open_;
  std::size_t size_bytes_;
  std::uintptr_t device_pointer_;
  bool read_only_;
  std::string backend_;
  std::string instructions_;
};
