// gdrapi.h: copies. They make the same checks as Window::write, so that they cost the same.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <new>
#include <utility>

#include <isthmus/errors.hpp>

#include "capi/default_windows.hpp"
#include "capi/gdr_pins.hpp"
#include "window/copies/streaming_copy.hpp"

namespace isthmus::capi {
namespace {

PerProcess<GdrHandles> handles;

// BAR1 is limited like memory: GDRCopy's callers expect ENOMEM for it. The phrases come from
// Bar1Budget and from the resource manager's statuses.
int code_of(const Unavailable& failure) {
  for (const char* used_up : {"of BAR1 they may use", "insufficient resources", "out of memory"})
    if (failure.reason().find(used_up) != std::string::npos) return ENOMEM;
  return ENOTSUP;
}

int log_refusal(const char* call, int code, const char* message) noexcept {
  try {
    gdr_log(GdrMessage::error, std::string(call) + ": " + message);
  } catch (const std::bad_alloc&) {
    gdr_log(GdrMessage::error, call);
  }
  return code;
}

}  // namespace

GdrHandles& GdrHandles::of_this_process() { return handles.get(); }

gdr_t GdrHandles::open() {
  auto handle = std::make_unique<gdr>();
  handle->descriptor = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const std::lock_guard lock(mutex_);
  pins_.try_emplace(handle.get());
  return handle.release();
}

std::unordered_set<GdrPin*>& GdrHandles::pins_of(gdr_t handle) {
  const auto found = pins_.find(handle);
  if (found == pins_.end())
    throw GdrRefusal(EINVAL,
                     "the gdr_t is not open in this process: it is null, it was closed, or the "
                     "process that this one was forked from opened it");
  return found->second;
}

GdrPin& GdrHandles::pin_of(gdr_t handle, gdr_mh_t pin) {
  const auto& pins = pins_of(handle);
  const auto found = pins.find(reinterpret_cast<GdrPin*>(pin.h));
  if (found == pins.end())
    throw GdrRefusal(EINVAL, "the gdr_mh_t is no buffer pinned with this gdr_t");
  return **found;
}

void GdrHandles::require_open(gdr_t handle) {
  const std::lock_guard lock(mutex_);
  pins_of(handle);
}

void GdrHandles::close(gdr_t handle) {
  // Windows take microseconds each to close, so they are closed after the lock is released.
  std::vector<GdrPin> closing;
  {
    const std::lock_guard lock(mutex_);
    for (GdrPin* const pin : pins_of(handle)) {
      closing.push_back(std::exchange(*pin, GdrPin{}));
      unused_.push_back(pin);
    }
    pins_.erase(handle);
  }
  const std::unique_ptr<gdr> owned(handle);
  if (owned->descriptor >= 0) ::close(owned->descriptor);
}

gdr_mh_t GdrHandles::add(gdr_t handle, GdrPin pin) {
  const std::lock_guard lock(mutex_);
  auto& pins = pins_of(handle);
  if (unused_.empty()) unused_.push_back(&storage_.emplace_back());
  GdrPin* const place = unused_.back();
  pins.insert(place);
  unused_.pop_back();
  *place = std::move(pin);
  return {reinterpret_cast<unsigned long>(place)};
}

void GdrHandles::remove(gdr_t handle, gdr_mh_t pin) {
  GdrPin closing;
  const std::lock_guard lock(mutex_);
  GdrPin& place = pin_of(handle, pin);
  unused_.push_back(&place);
  pins_of(handle).erase(&place);
  closing = std::exchange(place, GdrPin{});
}

int gdr_report_exception(const char* call) noexcept {
  try {
    throw;
  } catch (const GdrRefusal& refusal) {
    return log_refusal(call, refusal.code(), refusal.what());
  } catch (const UsageError& failure) {
    return log_refusal(call, EINVAL, failure.what());
  } catch (const Unavailable& failure) {
    return log_refusal(call, code_of(failure), failure.what());
  } catch (const OutOfDeviceMemory& failure) {
    return log_refusal(call, ENOMEM, failure.what());
  } catch (const std::bad_alloc&) {
    return log_refusal(call, ENOMEM, "host memory is used up");
  } catch (const std::exception& failure) {
    return log_refusal(call, EIO, failure.what());
  } catch (...) {
    return log_refusal(call, EIO, "an exception of an unknown kind");
  }
}

}  // namespace isthmus::capi

namespace isthmus::capi {
namespace {

const GdrPin* pin_of(gdr_mh_t handle) { return reinterpret_cast<const GdrPin*>(handle.h); }

// For copies that aren't admitted. Returns what the call returns: 0 bytes may be copied at any
// address.
[[gnu::cold, gnu::noinline]] int refuse_copy(const char* call, gdr_mh_t handle,
                                             std::size_t size_bytes) {
  return gdr_guarded(call, [&] {
    const GdrPin* const pin = pin_of(handle);
    gdr_require(pin, "gdr_mh_t");
    if (!pin->is_mapped()) throw GdrRefusal(EINVAL, "the buffer is not mapped");
    if (pin->process != process_generation())
      throw GdrRefusal(EINVAL, "the process that this one was forked from mapped the buffer");
    if (size_bytes != 0)
      throw GdrRefusal(EINVAL,
                       std::to_string(size_bytes) + " bytes there are not in the buffer's mapping");
  });
}

}  // namespace
}  // namespace isthmus::capi

using isthmus::capi::pin_of;
using isthmus::capi::refuse_copy;

int gdr_copy_to_mapping(gdr_mh_t handle, void* map_d_ptr, const void* h_ptr, size_t size) {
  const isthmus::capi::GdrPin* const pin = pin_of(handle);
  if (pin == nullptr || !pin->admits(map_d_ptr, size)) [[unlikely]]
    return refuse_copy("gdr_copy_to_mapping", handle, size);
  pin->copy->write(map_d_ptr, h_ptr, size);
  isthmus::window::store_fence();
  return 0;
}

int gdr_copy_from_mapping(gdr_mh_t handle, void* h_ptr, const void* map_d_ptr, size_t size) {
  const isthmus::capi::GdrPin* const pin = pin_of(handle);
  if (pin == nullptr || !pin->admits(map_d_ptr, size)) [[unlikely]]
    return refuse_copy("gdr_copy_from_mapping", handle, size);
  pin->copy->read(h_ptr, map_d_ptr, size);
  return 0;
}
