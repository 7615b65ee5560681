// isthmus.h: windows.
#include <cstring>
#include <memory>
#include <string>

#include <isthmus/isthmus.h>
#include <isthmus/errors.hpp>
#include <isthmus/window.hpp>

#include "capi/default_windows.hpp"
#include "capi/isthmus_calls.hpp"

struct isthmus_window {  // NOLINT(readability-identifier-naming): C's name for it
  isthmus::Window window;
};

namespace isthmus::capi {
namespace {

template <typename CWindow>
auto& required(CWindow* window) {
  if (window == nullptr) [[unlikely]]
    throw UsageError("the window is a null pointer");
  return window->window;
}

void require_host(const void* pointer, std::size_t size_bytes) {
  if (pointer == nullptr && size_bytes > 0) [[unlikely]]
    throw UsageError("the host address of " + std::to_string(size_bytes) +
                     " bytes is a null pointer");
}

BufferCheck check_of(isthmus_buffer_check check) {
  switch (check) {
    case ISTHMUS_CHECK_SHARED_PAGES:
      return BufferCheck::shared_pages;
    case ISTHMUS_CHECK_EACH_CALL:
      return BufferCheck::each_call;
    case ISTHMUS_CHECK_ON_OPENING:
      return BufferCheck::on_opening;
  }
  throw UsageError("isthmus_window_options.check is " + std::to_string(static_cast<int>(check)) +
                   ": it can be 0, 1 or 2");
}

WindowOptions options_of(const isthmus_window_options* given) {
  WindowOptions options;
  if (given == nullptr) return options;
  require_known_members(*given, "isthmus_window_options", "ISTHMUS_WINDOW_OPTIONS_INIT");
  options.check = check_of(given->check);
  if (given->num_threads != 0) options.num_threads = given->num_threads;
  if (given->page_bytes != 0) options.page_bytes = given->page_bytes;
  if (options.num_threads < 1)
    throw UsageError("isthmus_window_options.num_threads is " +
                     std::to_string(options.num_threads) + ": it must be at least 1");
  return options;
}

}  // namespace
}  // namespace isthmus::capi

using isthmus::capi::guarded;
using isthmus::capi::require_host;
using isthmus::capi::required;

isthmus_status isthmus_window_open(uint64_t device_pointer, size_t size_bytes,
                                   const isthmus_window_options* options, isthmus_window** window,
                                   isthmus_error* error) {
  return guarded(error, [&] {
    if (window == nullptr)
      throw isthmus::UsageError("where the window should go is a null pointer");
    const isthmus::WindowOptions wanted = isthmus::capi::options_of(options);
    auto opened = std::make_unique<isthmus_window>(
        isthmus_window{isthmus::capi::default_windows().open(device_pointer, size_bytes, wanted)});
    *window = opened.release();
  });
}

void isthmus_window_close(isthmus_window* window) { delete window; }

isthmus_status isthmus_window_write(isthmus_window* window, size_t offset_bytes, const void* source,
                                    size_t size_bytes, isthmus_error* error) {
  return guarded(error, [&] {
    require_host(source, size_bytes);
    required(window).write(offset_bytes, source, size_bytes);
  });
}

isthmus_status isthmus_window_post(isthmus_window* window, size_t offset_bytes, const void* source,
                                   size_t size_bytes, isthmus_error* error) {
  return guarded(error, [&] {
    require_host(source, size_bytes);
    required(window).post(offset_bytes, source, size_bytes);
  });
}

void isthmus_fence(void) { isthmus::Window::fence(); }

isthmus_status isthmus_window_read(const isthmus_window* window, void* target, size_t offset_bytes,
                                   size_t size_bytes, isthmus_error* error) {
  return guarded(error, [&] {
    require_host(target, size_bytes);
    required(window).read(target, offset_bytes, size_bytes);
  });
}

isthmus_status isthmus_window_is_alive(const isthmus_window* window, int* alive,
                                       isthmus_error* error) {
  return guarded(error, [&] {
    if (alive == nullptr) throw isthmus::UsageError("where the answer should go is a null pointer");
    *alive = required(window).buffer_is_alive() ? 1 : 0;
  });
}

void* isthmus_window_data(const isthmus_window* window) {
  return window == nullptr ? nullptr : window->window.data();
}
size_t isthmus_window_size(const isthmus_window* window) {
  return window == nullptr ? 0 : window->window.size_bytes();
}
uint64_t isthmus_window_device_pointer(const isthmus_window* window) {
  return window == nullptr ? 0 : window->window.device_pointer();
}
void* isthmus_window_mapped_data(const isthmus_window* window) {
  return window == nullptr ? nullptr : window->window.mapped_data();
}
size_t isthmus_window_mapped_size(const isthmus_window* window) {
  return window == nullptr ? 0 : window->window.mapped_bytes();
}
uint64_t isthmus_window_mapped_device_pointer(const isthmus_window* window) {
  return window == nullptr ? 0 : window->window.mapped_device_pointer();
}

// Both point to string literals, so they end with a null.
const char* isthmus_window_backend(const isthmus_window* window) {
  return window == nullptr ? nullptr : isthmus::name_of(window->window.backend()).data();
}
const char* isthmus_window_instructions(const isthmus_window* window) {
  return window == nullptr ? nullptr : window->window.instructions().data();
}
