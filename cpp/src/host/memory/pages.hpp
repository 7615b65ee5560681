// The pages of this process's memory.
// Whether memory can be touched without a signal.
// Memory that certainly is this process's ordinary memory, known without a system call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::host {

/// The smallest page of any CPU. What threads touch or pin begins at multiples of this, and so do
/// direct reads and writes of disks, whose blocks are no longer. Source: open(2).
inline constexpr std::size_t kSmallPageBytes = 4096;
/// A cache line: what a core fetches and stores at once.
inline constexpr std::size_t kLineBytes = 64;

/// The least multiple of `multiple`, which is > 0, that isn't below `size`: bytes, or an address.
constexpr std::size_t round_up(std::size_t size, std::size_t multiple) noexcept {
  return (size + multiple - 1) / multiple * multiple;
}

/// The kernel's page size: 4096 on x86-64.
std::size_t page_bytes() noexcept;

/// The whole pages around a range.
struct Pages {
  /// size_bytes  > 0
  Pages(const void* memory, std::size_t size_bytes) noexcept;

  void* data() const noexcept { return reinterpret_cast<void*>(first); }
  std::size_t size_bytes() const noexcept { return end - first; }
  std::size_t count() const noexcept { return size_bytes() / page_bytes(); }

  std::uintptr_t first;
  std::uintptr_t end;
};

enum class Access { read, write };

/// Makes pages present, as touching each would, but returns an error where touching would raise a
/// signal. Changes neither their bytes nor errno.
///
/// Returns     0, or the error of madvise(MADV_POPULATE_READ or _WRITE): EINVAL before Linux 5.14,
///             and for device memory.
int populate(const Pages& pages, Access access) noexcept;

/// True if the page of a byte is present, or that is unknown.
bool is_resident(const void* byte) noexcept;
/// The same of all pages of a range, by one system call for every 512 of them.
bool all_resident(const Pages& pages) noexcept;

/// Asks the kernel about [begin, begin + size_bytes): about every page if there are up to four,
/// else about the first and the last. These pages are present afterwards. A query takes 0.1 to 0.8
/// us; before Linux 5.14, and for device memory, 0.1 ms and more.
///
/// size_bytes  > 0
/// Returns     false if touching it would fault: nothing is mapped there, or the access isn't
///             allowed, or a file ends before (which isn't known before Linux 5.14).
bool can_touch(const void* begin, std::size_t size_bytes, Access access) noexcept;

/// True if something is mapped at each byte of a range, whatever its protection. Takes 0.2 us.
bool is_mapped(const void* begin, std::size_t size_bytes) noexcept;

/// True if [begin, begin + size_bytes) lies in the calling thread's stack or in the heap that brk()
/// grows: a driver never maps anything there. False means unknown. Takes 5 ns.
///
/// size_bytes  > 0
bool is_own_memory(const void* begin, std::size_t size_bytes) noexcept;

}  // namespace isthmus::host
