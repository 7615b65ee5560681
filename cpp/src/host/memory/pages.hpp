// The pages of this process's memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace isthmus::host {

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

}  // namespace isthmus::host
