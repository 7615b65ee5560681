// State that a child of fork() must not share with its parent: neither its locks nor its handles.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "window/forks.hpp"

namespace isthmus::capi {

/// One State for each process, created on first use and never destroyed. A child of fork() gets its
/// own, created from the parent's, whatever state the parent's locks are in. For static objects.
///
/// State       has a constructor with a const State*: the parent's, or null. It may read only const
///             or atomic members there.
template <typename State>
class PerProcess {
public:
  constexpr PerProcess() = default;

  State& get() {
    Entry* entry = current_.load(std::memory_order_acquire);
    while (entry == nullptr || entry->process != window::process_generation())
      entry = renewed(entry);
    return entry->state;
  }

private:
  struct Entry {
    std::uint64_t process;
    State state;
  };

  Entry* renewed(Entry* old) {
    window::watch_forks();
    auto fresh = std::unique_ptr<Entry>(
        new Entry{window::process_generation(), State(old == nullptr ? nullptr : &old->state)});
    if (!current_.compare_exchange_strong(old, fresh.get(), std::memory_order_acq_rel)) return old;
    return fresh.release();
  }

  std::atomic<Entry*> current_{nullptr};
};

}  // namespace isthmus::capi
