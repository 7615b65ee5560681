// gdrapi.h: queries.
#include <unistd.h>

#include <cerrno>

#include "capi/gdr_pins.hpp"

namespace isthmus::capi {
namespace {

// Pages that GDRCopy's own module maps may disappear when CUDA frees the buffer. The backend is
// known only after the first pin, so nothing is promised if this process can open the module.
bool mappings_persist() {
  const char* const kernel_module = "/dev/gdrdrv";
  return access(kernel_module, R_OK) != 0 || access(kernel_module, W_OK) != 0;
}

/// gdr_info_v2 without its last member: what gdr_get_info filled before GDRCopy 2.4.
struct InfoV1 {
  std::uint64_t va;
  std::uint64_t mapped_size;
  std::uint32_t page_size;
  std::uint64_t tm_cycles;
  std::uint32_t cycles_per_ms;
  unsigned mapped : 1;
  unsigned wc_mapping : 1;
};

template <typename Info>
void describe(const GdrPin& pin, Info& info) {
  info.va = pin.first_page;
  info.mapped_size = pin.page_bytes;
  info.page_size = kGdrPageBytes;
  info.tm_cycles = 0;
  info.cycles_per_ms = 0;
  info.mapped = pin.is_mapped() ? 1 : 0;
  info.wc_mapping = info.mapped;
}

int value_of(gdr_attr_t attribute) {
  switch (attribute) {
    case GDR_ATTR_USE_PERSISTENT_MAPPING:
      return mappings_persist() ? 1 : 0;
    case GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE:
      return 1;
    case GDR_ATTR_USING_DMA_BUF_MMAP:
      return 0;
    case GDR_ATTR_MAX:
      break;
  }
  throw GdrRefusal(EINVAL, "unknown attribute " + std::to_string(static_cast<int>(attribute)));
}

}  // namespace
}  // namespace isthmus::capi

using isthmus::capi::gdr_guarded;
using isthmus::capi::gdr_require;
using isthmus::capi::GdrHandles;
using isthmus::capi::GdrPin;

int gdr_get_info_v2(gdr_t g, gdr_mh_t handle, gdr_info_v2_t* info) {
  return gdr_guarded("gdr_get_info_v2", [&] {
    gdr_require(info, "info");
    GdrHandles::of_this_process().with_pin(g, handle, [&](const GdrPin& pin) {
      isthmus::capi::describe(pin, *info);
      info->mapping_type = pin.is_mapped() ? GDR_MAPPING_TYPE_WC : GDR_MAPPING_TYPE_NONE;
    });
  });
}

// For programs built with a header older than 2.4; the present header maps the name to _v2.
#undef gdr_get_info
extern "C" ISTHMUS_GDR_API int gdr_get_info(gdr_t g, gdr_mh_t handle, isthmus::capi::InfoV1* info) {
  return gdr_guarded("gdr_get_info", [&] {
    gdr_require(info, "info");
    GdrHandles::of_this_process().with_pin(
        g, handle, [&](const GdrPin& pin) { isthmus::capi::describe(pin, *info); });
  });
}

int gdr_get_callback_flag(gdr_t g, gdr_mh_t handle, int* flag) {
  return gdr_guarded("gdr_get_callback_flag", [&] {
    gdr_require(flag, "flag");
    GdrHandles::of_this_process().with_pin(g, handle, [&](const GdrPin& pin) {
      const bool gone =
          pin.window->backend() == isthmus::WindowBackend::gdrdrv && !pin.window->buffer_is_alive();
      *flag = gone ? 1 : 0;
    });
  });
}

void gdr_runtime_get_version(int* major, int* minor) {
  if (major != nullptr) *major = GDR_API_MAJOR_VERSION;
  if (minor != nullptr) *minor = GDR_API_MINOR_VERSION;
}

int gdr_driver_get_version(gdr_t g, int* major, int* minor) {
  return gdr_guarded("gdr_driver_get_version", [&] {
    gdr_require(major, "major");
    gdr_require(minor, "minor");
    GdrHandles::of_this_process().require_open(g);
    *major = GDR_API_MAJOR_VERSION;
    *minor = GDR_API_MINOR_VERSION;
  });
}

int gdr_get_attribute(gdr_t g, gdr_attr_t attr, int* v) {
  return gdr_guarded("gdr_get_attribute", [&] {
    gdr_require(v, "v");
    GdrHandles::of_this_process().require_open(g);
    *v = 0;
    *v = isthmus::capi::value_of(attr);
  });
}

int gdr_get_mapping_type_string(gdr_mapping_type_t mapping_type, const char** pstr) {
  return gdr_guarded("gdr_get_mapping_type_string", [&] {
    gdr_require(pstr, "pstr");
    switch (mapping_type) {
      case GDR_MAPPING_TYPE_NONE:
        *pstr = "None";
        return;
      case GDR_MAPPING_TYPE_WC:
        *pstr = "Write Combining";
        return;
      case GDR_MAPPING_TYPE_CACHING:
        *pstr = "Caching";
        return;
      case GDR_MAPPING_TYPE_DEVICE:
        *pstr = "Device";
        return;
      case GDR_MAPPING_TYPE_MAX:
        break;
    }
    throw isthmus::capi::GdrRefusal(
        EINVAL, "unknown mapping type " + std::to_string(static_cast<int>(mapping_type)));
  });
}
