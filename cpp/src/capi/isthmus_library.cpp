// isthmus.h: functions that belong to no window.
#include <deque>
#include <mutex>
#include <string>

#include <isthmus/isthmus.h>
#include <isthmus/errors.hpp>

#include "capi/default_windows.hpp"
#include "capi/isthmus_calls.hpp"
#include "driver/driver.hpp"

namespace isthmus::capi {
namespace {

struct Notices {
  std::mutex mutex;
  std::deque<std::string> waiting;
};

PerProcess<Notices> notices;

bool take_notice(char* text, std::size_t capacity_bytes) {
  if (text == nullptr || capacity_bytes == 0) return false;
  Notices& all = notices.get();
  const std::lock_guard lock(all.mutex);
  // Before the first window there are no notices, and this must not connect to a driver.
  if (Windows* const windows = default_windows_if_any())
    for (std::string& notice : windows->take_notices()) all.waiting.push_back(std::move(notice));
  if (all.waiting.empty()) return false;
  copy_text(all.waiting.front(), text, capacity_bytes);
  all.waiting.pop_front();
  return true;
}

void require_device(const Driver& driver, int device) {
  const int count = driver.device_count();
  if (device < 0 || device >= count)
    throw UsageError("there is no GPU " + std::to_string(device) + ": the driver has " +
                     std::to_string(count));
}

}  // namespace
}  // namespace isthmus::capi

using isthmus::capi::default_windows;
using isthmus::capi::guarded;

const char* isthmus_version(void) { return ISTHMUS_VERSION; }

const char* isthmus_status_name(isthmus_status status) {
  switch (status) {
    case ISTHMUS_OK:
      return "ok";
    case ISTHMUS_USAGE_ERROR:
      return "usage_error";
    case ISTHMUS_UNAVAILABLE:
      return "unavailable";
    case ISTHMUS_DRIVER_ERROR:
      return "driver_error";
    case ISTHMUS_OUT_OF_DEVICE_MEMORY:
      return "out_of_device_memory";
    case ISTHMUS_OUT_OF_HOST_MEMORY:
      return "out_of_host_memory";
    case ISTHMUS_INTERNAL_ERROR:
      return "internal_error";
  }
  return "unknown_status";
}

isthmus_status isthmus_bar1_usage(int device, uint64_t* mapped_bytes, uint64_t* limit_bytes,
                                  isthmus_error* error) {
  return guarded(error, [&] {
    const isthmus::Windows& windows = default_windows();
    isthmus::capi::require_device(windows.driver(), device);
    const std::uint64_t mapped = windows.mapped_bytes(device);
    const std::uint64_t limit = windows.bar1_limit_bytes(device);
    if (mapped_bytes != nullptr) *mapped_bytes = mapped;
    if (limit_bytes != nullptr) *limit_bytes = limit;
  });
}

int isthmus_take_notice(char* text, size_t capacity_bytes) {
  bool taken = false;
  static_cast<void>(
      guarded(nullptr, [&] { taken = isthmus::capi::take_notice(text, capacity_bytes); }));
  return taken ? 1 : 0;
}
