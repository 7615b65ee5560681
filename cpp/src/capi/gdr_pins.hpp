// What gdr_t and gdr_mh_t refer to, and the messages of libgdrapi, controlled by
// GDRCOPY_ENABLE_LOGGING and GDRCOPY_LOG_LEVEL.
#pragma once

#include <gdrapi.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <isthmus/window.hpp>

#include "driver/forks.hpp"
#include "window/copies/streaming_copy.hpp"

namespace isthmus::capi {

/// By severity, with GDRCopy's numbers.
enum class GdrMessage { debug = 1, info = 2, warning = 3, error = 4 };

/// Writes one line to stderr if the user wants messages of that level. Never throws.
void gdr_log(GdrMessage level, std::string_view text) noexcept;

}  // namespace isthmus::capi

/// A handle from gdr_open(). Programs see only its address; GDRCopy's tests read the descriptor.
struct gdr {            // NOLINT(readability-identifier-naming): GDRCopy's name for it
  int descriptor = -1;  ///< open but unused; GDRCopy keeps its module's descriptor here
};

namespace isthmus::capi {

/// GPU_PAGE_SIZE, as a typed constant.
inline constexpr std::uintptr_t kGdrPageBytes = 65536;

/// A pinned buffer; gdr_mh_t holds its address. After gdr_unpin_buffer() its memory is kept for the
/// next pin, so that a stale handle is seen as unmapped instead of crashing.
struct GdrPin {
  /// True if [pointer, pointer + size_bytes) lies in this process's mapping, so that it can be
  /// copied to or from. False also for zero bytes at the mapping's end.
  bool admits(const void* pointer, std::size_t size_bytes) const noexcept {
    const std::size_t offset_bytes =
        reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(mapped_data);
    return offset_bytes < mapped_bytes && size_bytes <= mapped_bytes - offset_bytes &&
           process == process_generation();
  }
  bool is_mapped() const noexcept { return mapped_bytes != 0; }

  std::byte* mapped_data = nullptr;  ///< the address from gdr_map(); null while unmapped
  std::size_t mapped_bytes = 0;
  const window::StreamingCopy* copy = nullptr;
  std::uint64_t process = 0;  ///< the generation of the process that pinned it

  gdr_t owner = nullptr;
  std::uintptr_t address = 0;     ///< what the caller pinned
  std::uintptr_t first_page = 0;  ///< the beginning of the GPU page that contains `address`
  std::size_t page_bytes = 0;     ///< of all its pages
  std::byte* data = nullptr;      ///< the CPU's address of the first page
  std::optional<Window> window;
};

/// Refuses a call of GDRCopy's API.
class GdrRefusal : public std::runtime_error {
public:
  GdrRefusal(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  int code() const noexcept { return code_; }

private:
  int code_;  ///< the errno code that the call returns
};

/// The open handles of this process and their pins. May be used from any thread.
class GdrHandles {
public:
  /// The handles of this process; a child of fork() begins with none.
  static GdrHandles& of_this_process();

  gdr_t open();
  /// Closes the windows of all its pins. Throws GdrRefusal(EINVAL) if it isn't open.
  void close(gdr_t handle);
  /// Throws GdrRefusal(EINVAL) if it isn't open.
  void require_open(gdr_t handle);

  /// Keeps a pin. Throws GdrRefusal(EINVAL), and closes its window, if `handle` isn't open.
  gdr_mh_t add(gdr_t handle, GdrPin pin);
  void remove(gdr_t handle, gdr_mh_t pin);
  /// Calls use(GdrPin&) on a pin of that handle, while no other thread uses or removes it.
  ///
  /// Throws      GdrRefusal(EINVAL) if there is no such pin.
  template <typename Use>
  auto with_pin(gdr_t handle, gdr_mh_t pin, Use&& use) {
    const std::lock_guard lock(mutex_);
    return use(pin_of(handle, pin));
  }

private:
  GdrPin& pin_of(gdr_t handle, gdr_mh_t pin);
  std::unordered_set<GdrPin*>& pins_of(gdr_t handle);

  std::mutex mutex_;
  std::unordered_map<gdr_t, std::unordered_set<GdrPin*>> pins_;
  std::deque<GdrPin> storage_;  ///< memory for all pins; it never shrinks
  std::vector<GdrPin*> unused_;
};

/// Logs the exception that is being handled. Returns its errno code.
int gdr_report_exception(const char* call) noexcept;

/// Runs `body`. If it throws, logs the error and returns its errno code, as GDRCopy's functions do.
///
/// call        the function's name, for the log
template <typename Body>
int gdr_guarded(const char* call, Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    return gdr_report_exception(call);
  }
}

/// Throws      GdrRefusal(EINVAL) that names the null pointer.
template <typename Pointee>
void gdr_require(Pointee* pointer, const char* what) {
  if (pointer == nullptr) throw GdrRefusal(EINVAL, std::string(what) + " is a null pointer");
}

}  // namespace isthmus::capi
