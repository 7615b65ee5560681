// What is mapped in this process, as the kernel lists it: /proc/self/maps.
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
  bool has_file = false;  ///< shared memory and devices too

  /// Memory that the process has to itself and may use as it likes, as malloc() hands it out:
  /// nothing shrinks it under a copy, and no driver puts a device's memory there (that is a
  /// device's file, or may not be touched).
  bool is_ordinary() const noexcept { return readable && writable && !shared && !has_file; }
};

/// Takes the first line off the text of /proc/self/maps. Nothing if it isn't one.
std::optional<Mapping> take_mapping(std::string_view& text) noexcept;

/// Asks the kernel for single mappings, at 0.2 to 0.6 us each (PROCMAP_QUERY, Linux 6.11). The
/// whole list takes 0.1 ms and more. Of the process that made it: a forked child makes its own.
/// May be used from any thread.
class MemoryMap {
public:
  MemoryMap() noexcept;
  ~MemoryMap();
  MemoryMap(const MemoryMap&) = delete;
  MemoryMap& operator=(const MemoryMap&) = delete;

  enum class Wanted {
    covering,        ///< the address lies in it
    file_from_here,  ///< the first one with a file that the address lies in or before
  };
  struct Answer {
    bool known = false;  ///< false: the kernel doesn't tell
    std::optional<Mapping> mapping;
  };
  Answer find(std::uintptr_t address, Wanted wanted) const noexcept;

private:
  int file_ = -1;
};

}  // namespace isthmus::host
