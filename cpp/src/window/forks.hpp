// A window belongs to the process that opened it. This is how the others know.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus::window {

namespace detail {
extern std::atomic<std::uint64_t> process_generation;
}

/// Changes in a child of fork(): what was opened under another value belongs to the parent.
inline std::uint64_t process_generation() noexcept {
  return detail::process_generation.load(std::memory_order_relaxed);
}

/// Starts watching for forks. Called before anything is opened; later calls do nothing.
void watch_forks();

/// Keeps a descriptor from living on in children: it is closed there right after fork().
void close_in_children(int descriptor);
/// The descriptor is about to be closed here.
void forget_descriptor(int descriptor) noexcept;

/// Lets no thread fork while it lives: no child shall get what was opened or mapped, but not yet
/// marked as this process's own. One at a time in a thread.
class [[nodiscard]] ScopedForkDelay {
public:
  ScopedForkDelay();
  ~ScopedForkDelay();
  ScopedForkDelay(const ScopedForkDelay&) = delete;
  ScopedForkDelay& operator=(const ScopedForkDelay&) = delete;
};

}  // namespace isthmus::window
