// A window belongs to the process that opened it. Child processes detect that here.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus::window {

namespace detail {
extern std::atomic<std::uint64_t> process_generation;
}

/// Changes in a child of fork(): an object that stores another value belongs to the parent.
inline std::uint64_t process_generation() noexcept {
  return detail::process_generation.load(std::memory_order_relaxed);
}

/// Starts watching for forks. Called before anything is opened; later calls do nothing.
void watch_forks();

/// Registers a descriptor to be closed in children right after fork().
void close_in_children(int descriptor);
/// Call before closing the descriptor in this process.
void forget_descriptor(int descriptor) noexcept;

/// No thread can fork while it lives: a child must not inherit what has been opened or mapped but
/// not yet marked as this process's own. A thread may hold one at a time.
class [[nodiscard]] ScopedForkDelay {
public:
  ScopedForkDelay();
  ~ScopedForkDelay();
  ScopedForkDelay(const ScopedForkDelay&) = delete;
  ScopedForkDelay& operator=(const ScopedForkDelay&) = delete;
};

}  // namespace isthmus::window
