#include "host/memory/pages.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/mman.h>
#include <unistd.h>

// Since Linux 5.14; the C library's headers may be older than the kernel.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace isthmus::host {

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Pages::Pages(const void* memory, std::size_t size_bytes) noexcept
    : first(reinterpret_cast<std::uintptr_t>(memory) / page_bytes() * page_bytes()),
      end((reinterpret_cast<std::uintptr_t>(memory) + size_bytes + page_bytes() - 1) /
          page_bytes() * page_bytes()) {}

int populate(const Pages& pages, Access access) noexcept {
  const int advice = access == Access::read ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;
  const int before = errno;
  const int error = madvise(pages.data(), pages.size_bytes(), advice) == 0 ? 0 : errno;
  errno = before;
  return error;
}

bool is_resident(const void* byte) noexcept {
  unsigned char residency = 0;
  if (mincore(Pages(byte, 1).data(), 1, &residency) != 0) return true;
  return (residency & 1U) != 0;
}

bool all_resident(const Pages& pages) noexcept {
  std::array<unsigned char, 512> residency{};
  const std::size_t most_bytes = residency.size() * page_bytes();
  for (std::uintptr_t first = pages.first; first < pages.end; first += most_bytes) {
    const std::size_t size_bytes = std::min(pages.end - first, most_bytes);
    if (mincore(reinterpret_cast<void*>(first), size_bytes, residency.data()) != 0) return true;
    const auto end = residency.begin() + static_cast<std::ptrdiff_t>(size_bytes / page_bytes());
    const auto present = [](unsigned char page) { return (page & 1U) != 0; };
    if (!std::all_of(residency.begin(), end, present)) return false;
  }
  return true;
}

}  // namespace isthmus::host
