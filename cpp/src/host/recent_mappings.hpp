// What was found out about this process's memory a moment ago.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "host/memory_map.hpp"

namespace isthmus::host {

/// A time that stands still for some milliseconds: see this_tick().
using Tick = std::int64_t;

/// The kernel's coarse clock: 6 ns, where the time stamp counter takes 10 and the exact clock 24,
/// and the same on every machine: no counter that stops, differs between cores, or traps in a
/// virtual machine. It moves once in 1 to 10 ms (CONFIG_HZ), which is as exact as anything here has
/// to be.
Tick this_tick() noexcept;

/// Remembers mappings, each until the tick after the one in which the kernel told of it. So memory
/// that was unmapped, or became a file's, is noticed some milliseconds later. Until then it counts
/// as what it was, and touching it is the fault that it would be without any check, as it is when
/// another thread unmaps memory during a copy. Used by one thread.
class RecentMappings {
public:
  /// The same of a range that lies in one mapping; nothing if it doesn't, as far as is known.
  std::optional<bool> is_ordinary(std::uintptr_t first, std::uintptr_t last,
                                  Tick now) const noexcept {
    if (now != tick_) return std::nullopt;
    for (const Entry& entry : entries_)
      if (first >= entry.begin && last < entry.end) return entry.ordinary;
    return std::nullopt;
  }
  /// True or false as the mapping around an address was ordinary memory (Mapping::is_ordinary) in
  /// this tick; nothing if it isn't known.
  std::optional<bool> is_ordinary(std::uintptr_t address, Tick now) const noexcept {
    return is_ordinary(address, address, now);
  }
  void remember(const Mapping& mapping, Tick now) noexcept;
  void forget() noexcept;

private:
  // A program copies from few arrays at a time; to look through eight takes less than the clock.
  static constexpr std::size_t kMaxEntries = 8;
  struct Entry {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    bool ordinary = false;
  };
  std::array<Entry, kMaxEntries> entries_;
  std::size_t next_ = 0;
  Tick tick_ = 0;
};

}  // namespace isthmus::host
