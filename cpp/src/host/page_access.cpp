#include "host/page_access.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "host/text_file.hpp"

// Of Linux 5.14; the C library's headers may be older.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace isthmus::host {
namespace {

/// By the list of this process's mappings: slow, for memory that madvise() won't judge.
bool mapped_for(std::uintptr_t address, Access access) noexcept try {
  const std::string maps = read_text("/proc/self/maps").value_or("");
  for (std::string_view rest = maps; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    const char* const first = line.begin();
    const char* const last = line.end();
    const char* const dash = std::from_chars(first, last, begin, 16).ptr;
    if (dash == last) continue;
    const char* const blank = std::from_chars(dash + 1, last, end, 16).ptr;
    if (address < begin || address >= end || last - blank < 3) continue;
    return blank[access == Access::read ? 1 : 2] != '-';
  }
  return maps.empty();
} catch (const std::exception&) {
  return true;  // no memory for the list: not the time to refuse a copy
}

bool can_touch(std::uintptr_t page, std::size_t page_bytes, Access access) noexcept {
  const int advice = access == Access::read ? MADV_POPULATE_READ : MADV_POPULATE_WRITE;
  const int before = errno;
  const int error = madvise(reinterpret_cast<void*>(page), page_bytes, advice) == 0 ? 0 : errno;
  errno = before;
  // An older kernel, forbidden memory, or memory of a device.
  if (error == EINVAL) return mapped_for(page, access);
  return error != EFAULT && error != ENOMEM && error != EHWPOISON;
}

}  // namespace

bool can_touch_ends(const void* begin, std::size_t size_bytes, Access access) noexcept {
  static const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = address - address % page_bytes;
  const std::uintptr_t last_byte = address + size_bytes - 1;
  const std::uintptr_t last = last_byte - last_byte % page_bytes;
  if (!can_touch(first, page_bytes, access)) return false;
  return last == first || can_touch(last, page_bytes, access);
}

}  // namespace isthmus::host
