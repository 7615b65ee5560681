// What was recently found out about this process's memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "host/memory/memory_map.hpp"

namespace isthmus::host {

/// A time that doesn't change for some milliseconds: see this_tick().
using Tick = std::int64_t;

/// The kernel's coarse clock. Reading it takes 6 ns; the time stamp counter takes 10 and the exact
/// clock 24. It works the same on every machine, unlike a counter that stops, differs between
/// cores, or traps in a virtual machine. It advances every 1 to 10 ms (CONFIG_HZ), which is exact
/// enough here.
Tick this_tick() noexcept;

/// Remembers each mapping until the tick in which the kernel reported it ends. So memory that was
/// unmapped, or became a file's, is noticed some milliseconds later. Until then touching it faults
/// as it would without any check, and as it does when another thread unmaps memory during a copy.
/// Used by one thread.
class RecentMappings {
public:
  /// The same for a range in one mapping; nothing if it isn't in one or that is unknown.
  std::optional<bool> is_ordinary(std::uintptr_t first, std::uintptr_t last,
                                  Tick now) const noexcept {
    if (now != tick_) return std::nullopt;
    for (const Entry& entry : entries_)
      if (first >= entry.begin && last < entry.end) return entry.ordinary;
    return std::nullopt;
  }
  /// Whether the mapping around an address was ordinary memory (Mapping::is_ordinary) in this tick;
  /// nothing if that is unknown.
  std::optional<bool> is_ordinary(std::uintptr_t address, Tick now) const noexcept {
    return is_ordinary(address, address, now);
  }
  void remember(const Mapping& mapping, Tick now) noexcept;
  void forget() noexcept;

private:
  // A program copies from few arrays at a time; searching eight takes less time than reading the
  // clock.
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
