// gdrapi.h: copies. They make the same checks as Window::write, so that they cost the same.
#include <cerrno>

#include "capi/gdr_pins.hpp"
#include "window/copies/streaming_copy.hpp"

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
