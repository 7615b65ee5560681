// This process's mappings, as the kernel lists them: /proc/self/maps.
#pragma once

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

}  // namespace isthmus::host
