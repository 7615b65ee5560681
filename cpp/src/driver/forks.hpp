// CUDA doesn't survive fork(): what a process opened belongs to it alone. Its children detect that here.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace isthmus {

namespace detail {
extern std::atomic<std::uint64_t> process_generation;
[[noreturn]] void refuse_in_child(std::string_view what);
}  // namespace detail

/// Changes in a child of fork(): an object that stores another value belongs to the parent.
inline std::uint64_t process_generation() noexcept {
  return detail::process_generation.load(std::memory_order_relaxed);
}

/// Checks that an object belongs to this process.
///
/// generation  process_generation() when the object was made
/// what        names it at the beginning of the message: "this window"
/// Throws      UsageError if the process was forked off since then.
inline void require_own_process(std::uint64_t generation, std::string_view what) {
  if (generation != process_generation()) [[unlikely]]
    detail::refuse_in_child(what);
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

}  // namespace isthmus
