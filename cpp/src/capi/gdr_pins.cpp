// gdrapi.h: handles, pins and mappings.
#include "capi/gdr_pins.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include <isthmus/errors.hpp>

#include "capi/default_windows.hpp"
#include "driver/driver.hpp"
#include "driver/environment.hpp"
#include "window/copies/device_copy.hpp"

namespace isthmus::capi {
namespace {

// Read once, at the first message, as GDRCopy does.
struct LogSettings {
  bool enabled = environment("GDRCOPY_ENABLE_LOGGING").has_value();
  std::optional<std::string> level_text = environment("GDRCOPY_LOG_LEVEL");
  // Text that is no number counts as 0, which prints everything: GDRCopy's atoi does the same.
  long lowest_level = level_text ? std::strtol(level_text->c_str(), nullptr, 10)
                                 : static_cast<long>(GdrMessage::error);
};

const char* prefix_of(GdrMessage level) {
  switch (level) {
    case GdrMessage::debug:
      return "DBG:  ";
    case GdrMessage::info:
      return "INFO: ";
    case GdrMessage::warning:
      return "WARN: ";
    case GdrMessage::error:
      return "ERR:  ";
  }
  return "";
}

}  // namespace

void gdr_log(GdrMessage level, std::string_view text) noexcept {
  static const LogSettings settings;
  if (!settings.enabled || static_cast<long>(level) < settings.lowest_level) return;
  // One call, so that lines from several threads don't mix.
  std::fprintf(stderr, "%s%.*s\n", prefix_of(level), static_cast<int>(text.size()), text.data());
}

}  // namespace isthmus::capi

namespace isthmus::capi {
namespace {

// Checks what is known without CUDA: the program may still want to use CUDA after fork().
void require_windows() {
  if (WindowSettings::from_environment().backend == "off")
    throw Unavailable("windows", "ISTHMUS_WINDOW=off", "ISTHMUS_WINDOW unset");
  Driver::find();
}

void require_pinnable(unsigned long address, std::size_t size_bytes, std::uint32_t flags) {
  if (address == 0) throw GdrRefusal(EINVAL, "the device address is a null pointer");
  if (size_bytes == 0) throw GdrRefusal(EINVAL, "0 bytes can't be pinned");
  if (flags > GDR_PIN_FLAG_FORCE_PCIE)
    throw GdrRefusal(EINVAL, "unknown flags: " + std::to_string(flags));
}

GdrPin pinned(gdr_t owner, std::uintptr_t address, std::size_t size_bytes) {
  const WindowOptions options{
      .num_threads = 1, .check = BufferCheck::on_opening, .page_bytes = kGdrPageBytes};
  GdrPin pin;
  pin.window = default_windows().open(address, size_bytes, options);
  pin.copy = &window::streaming_copy_at(default_windows().driver(), address);
  pin.process = process_generation();
  pin.owner = owner;
  pin.address = address;
  pin.first_page = address / kGdrPageBytes * kGdrPageBytes;
  const std::uintptr_t bytes_from_first_page = address - pin.first_page + size_bytes;
  pin.page_bytes = (bytes_from_first_page + kGdrPageBytes - 1) / kGdrPageBytes * kGdrPageBytes;
  pin.data = pin.window->data() - (address - pin.first_page);
  return pin;
}

int pin_buffer(const char* call, gdr_t g, unsigned long address, std::size_t size_bytes,
               std::uint32_t flags, gdr_mh_t* handle) {
  return gdr_guarded(call, [&] {
    gdr_require(handle, "where the handle should go");
    GdrHandles& handles = GdrHandles::of_this_process();
    handles.require_open(g);
    require_pinnable(address, size_bytes, flags);
    *handle = handles.add(g, pinned(g, address, size_bytes));
  });
}

std::size_t whole_cpu_pages(std::size_t size_bytes) {
  static const auto cpu_page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (size_bytes + cpu_page_bytes - 1) / cpu_page_bytes * cpu_page_bytes;
}

void require_mappable(const GdrPin& pin, std::size_t size_bytes, int flags) {
  if (pin.is_mapped()) throw GdrRefusal(EAGAIN, "the buffer is mapped already");
  if (flags < GDR_MAP_FLAG_DEFAULT || flags > GDR_MAP_FLAG_REQ_DEVICE_MAPPING)
    throw GdrRefusal(EINVAL, "unknown flags: " + std::to_string(flags));
  if (flags != GDR_MAP_FLAG_DEFAULT && flags != GDR_MAP_FLAG_REQ_WC_MAPPING)
    throw GdrRefusal(EINVAL, "the mapping is write-combined; another type was asked for");
  if (pin.address != pin.first_page)
    throw GdrRefusal(EINVAL,
                     "the pinned address is not a multiple of 64 KiB, so it can't be mapped");
  if (size_bytes == 0 || size_bytes > pin.page_bytes)
    throw GdrRefusal(EINVAL, std::to_string(size_bytes) + " bytes can't be mapped of " +
                                 std::to_string(pin.page_bytes) + " pinned ones");
}

int map_pin(const char* call, gdr_t g, gdr_mh_t handle, void** address, std::size_t size_bytes,
            int flags) {
  return gdr_guarded(call, [&] {
    gdr_require(address, "where the address should go");
    GdrHandles::of_this_process().with_pin(g, handle, [&](GdrPin& pin) {
      require_mappable(pin, size_bytes, flags);
      pin.mapped_data = pin.data;
      pin.mapped_bytes = whole_cpu_pages(size_bytes);
      *address = pin.data;
    });
  });
}

void unmap(GdrPin& pin, const void* address, std::size_t size_bytes) {
  if (!pin.is_mapped()) throw GdrRefusal(EINVAL, "the buffer is not mapped");
  if (address != pin.mapped_data)
    throw GdrRefusal(EINVAL, "the address is not the one that gdr_map() gave for this buffer");
  if (size_bytes == 0 || size_bytes > pin.mapped_bytes)
    throw GdrRefusal(EINVAL, std::to_string(size_bytes) + " bytes can't be unmapped of " +
                                 std::to_string(pin.mapped_bytes) + " mapped ones");
  pin.mapped_data = nullptr;
  pin.mapped_bytes = 0;
}

}  // namespace
}  // namespace isthmus::capi

using isthmus::capi::gdr_guarded;
using isthmus::capi::GdrHandles;
using isthmus::capi::GdrPin;

gdr_t gdr_open(void) {
  gdr_t handle = nullptr;
  const int code = gdr_guarded("gdr_open", [&] {
    isthmus::capi::require_windows();
    handle = GdrHandles::of_this_process().open();
  });
  if (code != 0) errno = code;
  return handle;
}

int gdr_close(gdr_t g) {
  return gdr_guarded("gdr_close", [&] { GdrHandles::of_this_process().close(g); });
}

int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t p2p_token, uint32_t va_space,
                   gdr_mh_t* handle) {
  if (p2p_token != 0 || va_space != 0)
    return gdr_guarded("gdr_pin_buffer", [] {
      throw isthmus::capi::GdrRefusal(EINVAL, "tokens are not supported: pass 0");
    });
  return isthmus::capi::pin_buffer("gdr_pin_buffer", g, addr, size, GDR_PIN_FLAG_DEFAULT, handle);
}

int gdr_pin_buffer_v2(gdr_t g, unsigned long addr, size_t size, uint32_t flags, gdr_mh_t* handle) {
  return isthmus::capi::pin_buffer("gdr_pin_buffer_v2", g, addr, size, flags, handle);
}

int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle) {
  return gdr_guarded("gdr_unpin_buffer", [&] { GdrHandles::of_this_process().remove(g, handle); });
}

int gdr_map(gdr_t g, gdr_mh_t handle, void** va, size_t size) {
  return isthmus::capi::map_pin("gdr_map", g, handle, va, size, GDR_MAP_FLAG_DEFAULT);
}

int gdr_map_v2(gdr_t g, gdr_mh_t handle, void** ptr_va, size_t size, int flags) {
  return isthmus::capi::map_pin("gdr_map_v2", g, handle, ptr_va, size, flags);
}

int gdr_unmap(gdr_t g, gdr_mh_t handle, void* va, size_t size) {
  return gdr_guarded("gdr_unmap", [&] {
    GdrHandles::of_this_process().with_pin(
        g, handle, [&](GdrPin& pin) { isthmus::capi::unmap(pin, va, size); });
  });
}
