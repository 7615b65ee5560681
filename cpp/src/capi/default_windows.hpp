// What a C library keeps for its process: state that a child of fork() doesn't share with its
// parent, and one Windows for all callers, on the default driver.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <isthmus/window.hpp>

#include "driver/forks.hpp"

namespace isthmus::capi {

/// One State for each process, created on first use and never destroyed. A child of fork() gets its
/// own, whatever state the parent's locks are in. For static objects.
template <typename State>
class PerProcess {
public:
  constexpr PerProcess() = default;

  State& get() {
    Entry* entry = current_.load(std::memory_order_acquire);
    while (entry == nullptr || entry->process != process_generation()) entry = renewed(entry);
    return entry->state;
  }

private:
  struct Entry {
    const std::uint64_t process = process_generation();
    State state;
  };

  Entry* renewed(Entry* old) {
    watch_forks();
    auto fresh = std::make_unique<Entry>();
    if (!current_.compare_exchange_strong(old, fresh.get(), std::memory_order_acq_rel)) return old;
    return fresh.release();
  }

  std::atomic<Entry*> current_{nullptr};
};

/// The process's Windows on the driver that $ISTHMUS_DRIVER names. Connects at the first call; if
/// that fails, the next call tries again. Never destroyed, because CUDA shuts down before static
/// objects are destroyed. May be called from any thread.
///
/// Throws      what Driver::open and Windows throw.
Windows& default_windows();

/// The same Windows if this process has created them, else null: connects to no driver.
Windows* default_windows_if_any() noexcept;

}  // namespace isthmus::capi
