// This process's mappings, as the kernel lists them: /proc/self/maps.
// What was recently found out about this process's memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace isthmus::host {

/// Pages that were mapped together.
struct Mapping {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool readable = false;
  bool writable = false;
  bool shared = false;
  bool has_file = false;  ///< also for shared memory and devices
  /// Shared memory that no descriptor names, so that nothing can make it shorter: anonymous, or
  /// System V's. False: unknown.
  bool keeps_size = false;
  std::uint64_t offset_bytes = 0;  ///< of the first byte in its file
  std::uint64_t file_system = 0;   ///< the device that the kernel names: with `inode`, which file
  std::uint64_t inode = 0;

  /// Memory that the process may use freely, like malloc()'s: nothing shrinks it during a copy, and
  /// no driver maps device memory there (that is a device's file, or can't be touched).
  bool is_ordinary() const noexcept {
    return readable && writable && (keeps_size || (!shared && !has_file));
  }
};

/// The mapping that contains an address, by the whole list where the kernel answers no query for one;
/// nothing if there is none, or no list.
///
/// Throws      std::bad_alloc
std::optional<Mapping> mapping_at(std::uintptr_t address);

/// Removes the first line from the text of /proc/self/maps. Returns nothing if it isn't a mapping.
std::optional<Mapping> take_mapping(std::string_view& text) noexcept;

/// Asks the kernel for single mappings, 0.2 to 0.6 us each (PROCMAP_QUERY, Linux 6.11). The whole
/// list takes 0.1 ms and more. Belongs to the process that made it: a forked child must make its
/// own. May be used from any thread.
class MemoryMap {
public:
  MemoryMap() noexcept;
  ~MemoryMap();
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;

  enum class Wanted {
    covering,        ///< the mapping that contains the address
    file_from_here,  ///< the first mapping with a file that contains the address or lies after it
  };
  struct Answer {
    bool known = false;  ///< false: the kernel doesn't tell
    std::optional<Mapping> mapping;
  };
  Answer find(std::uintptr_t address, Wanted wanted) const noexcept;
  /// The mappings under [begin, end) as one, by a query for each. It may be read, or written, if all
  /// of them may; it is shared, or has a file, if any of them is or has. Its offset and its file are
  /// those of the first. No mapping: there is a gap.
  ///
  /// begin       < end
  Answer find_joined(std::uintptr_t begin, std::uintptr_t end) const noexcept;

private:
  int file_ = -1;
};

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
