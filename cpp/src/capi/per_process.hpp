// State that a child of fork() must not share with its parent: neither its locks nor its handles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

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

}  // namespace isthmus::capi
