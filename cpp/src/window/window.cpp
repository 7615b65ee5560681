#include <isthmus/window.hpp>

#include <utility>

#include <isthmus/errors.hpp>

#include "driver/forks.hpp"
#include "window/copies/copy_threads.hpp"
#include "window/copies/streaming_copy.hpp"
#include "window/mapping.hpp"

namespace isthmus {

Window::Window(std::shared_ptr<const window::Mapping> mapping,
               std::shared_ptr<window::CopyThreads> threads, std::uintptr_t pointer,
               std::size_t size_bytes, const WindowOptions& options)
    : data_(mapping->at(pointer)),
      size_bytes_(size_bytes),
      copy_(&mapping->copy()),
      process_(process_generation()),
      checks_each_call_(options.check == BufferCheck::each_call ||
                        (options.check == BufferCheck::shared_pages && mapping->shared())),
      num_threads_(options.num_threads),
      device_pointer_(pointer),
      mapping_(std::move(mapping)),
      threads_(std::move(threads)) {}

Window::Window(Window&& other) noexcept { *this = std::move(other); }

Window& Window::operator=(Window&& other) noexcept {
  if (this == &other) return *this;
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = other.size_bytes_;
  copy_ = other.copy_;
  process_ = other.process_;
  checks_each_call_ = other.checks_each_call_;
  num_threads_ = other.num_threads_;
  device_pointer_ = other.device_pointer_;
  mapping_ = std::move(other.mapping_);
  threads_ = std::move(other.threads_);
  return *this;
}

Window::~Window() = default;

void Window::close() noexcept {
  data_ = nullptr;
  mapping_.reset();
  threads_.reset();
}

inline void Window::admit(std::size_t offset_bytes, std::size_t size_bytes) const {
  const bool inside = offset_bytes <= size_bytes_ && size_bytes <= size_bytes_ - offset_bytes;
  if (data_ != nullptr && inside && process_ == process_generation() &&
      (!checks_each_call_ || mapping_->buffers_are_alive())) [[likely]]
    return;
  refuse(offset_bytes, size_bytes);
}

/// Throws why an access is refused; returns if a second check by the driver allows it.
void Window::refuse(std::size_t offset_bytes, std::size_t size_bytes) const {
  require_own_process(process_, "this window");
  if (data_ == nullptr) throw UsageError("the window is closed; open another one");
  if (offset_bytes > size_bytes_ || size_bytes > size_bytes_ - offset_bytes)
    throw UsageError(std::to_string(size_bytes) + " bytes at offset " +
                     std::to_string(offset_bytes) + " are not inside the window's " +
                     std::to_string(size_bytes_) + " bytes");
  mapping_->require_live_buffers();
}

void Window::write(std::size_t offset_bytes, const void* source, std::size_t size_bytes) {
  admit(offset_bytes, size_bytes);
  if (threads_ != nullptr) {
    threads_->write(*copy_, data_ + offset_bytes, source, size_bytes, num_threads_);
    return;
  }
  copy_->write(data_ + offset_bytes, source, size_bytes);
  window::store_fence();
}

void Window::post(std::size_t offset_bytes, const void* source, std::size_t size_bytes) {
  admit(offset_bytes, size_bytes);
  copy_->write(data_ + offset_bytes, source, size_bytes);
}

void Window::fence() noexcept { window::store_fence(); }

void Window::read(void* target, std::size_t offset_bytes, std::size_t size_bytes) const {
  admit(offset_bytes, size_bytes);
  if (threads_ != nullptr) {
    threads_->read(*copy_, target, data_ + offset_bytes, size_bytes, num_threads_);
    return;
  }
  copy_->read(target, data_ + offset_bytes, size_bytes);
}

bool Window::buffer_is_alive() const {
  if (data_ == nullptr || process_ != process_generation()) refuse(0, 0);
  return mapping_->buffers_are_alive();
}

std::byte* Window::mapped_data() const noexcept {
  return mapping_ != nullptr ? mapping_->data() : nullptr;
}

std::uintptr_t Window::mapped_device_pointer() const noexcept {
  return mapping_ != nullptr ? mapping_->pages().begin : 0;
}

std::size_t Window::mapped_bytes() const noexcept {
  return mapping_ != nullptr ? mapping_->pages().size_bytes : 0;
}

WindowBackend Window::backend() const noexcept {
  return mapping_ != nullptr ? mapping_->backend() : WindowBackend::dmabuf;
}

std::string_view Window::instructions() const noexcept {
  return copy_ != nullptr ? copy_->name : std::string_view();
}

}  // namespace isthmus
