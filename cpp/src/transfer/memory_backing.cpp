#include "transfer/memory_backing.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/text_file.hpp"

// Linux 5.14; the C library's headers may be older than the kernel.
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace isthmus::transfer {
namespace {

// Source: include/uapi/linux/fs.h of Linux 6.11, struct procmap_query. Its names are kept.
struct ProcmapQuery {
  std::uint64_t size;
  std::uint64_t query_flags;
  std::uint64_t query_addr;
  std::uint64_t vma_start;
  std::uint64_t vma_end;
  std::uint64_t vma_flags;
  std::uint64_t vma_page_size;
  std::uint64_t vma_offset;
  std::uint64_t inode;
  std::uint32_t dev_major;
  std::uint32_t dev_minor;
  std::uint32_t vma_name_size;
  std::uint32_t build_id_size;
  std::uint64_t vma_name_addr;
  std::uint64_t build_id_addr;
};
static_assert(sizeof(ProcmapQuery) == 104);
constexpr unsigned long kProcmapQuery = _IOWR('f', 17, ProcmapQuery);
constexpr std::uint64_t kCoveringOrNext = 0x10;
constexpr std::uint64_t kFileBacked = 0x20;

std::uintptr_t address_of(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

std::uintptr_t page_bytes() {
  static const auto bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

void* page_of(const std::byte* byte) {
  return reinterpret_cast<void*>(address_of(byte) / page_bytes() * page_bytes());
}

bool resident(const std::byte* byte) noexcept {
  unsigned char residency = 0;
  if (mincore(page_of(byte), 1, &residency) != 0) return true;
  return (residency & 1U) != 0;
}

/// A number in hexadecimal at the start of `text`, which is shortened by it and what follows.
std::uintptr_t take_address(std::string_view& text) {
  std::uintptr_t address = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), address, 16);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return address;
}

/// "7f..0-7f..1 rw-p 00000000 00:00 0": the fifth field is the file's inode.
bool names_file(std::string_view fields) {
  for (int field = 0; field < 3; ++field) {
    fields.remove_prefix(std::min(fields.find(' '), fields.size() - 1) + 1);
  }
  return !fields.empty() && fields.front() != '0';
}

}  // namespace

MemoryBacking::MemoryBacking() noexcept : maps_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}

MemoryBacking::~MemoryBacking() {
  if (maps_ >= 0) close(maps_);
}

Backing MemoryBacking::of(const std::byte* memory, std::size_t size_bytes) const noexcept {
  ProcmapQuery query{};
  query.size = sizeof query;
  query.query_flags = kCoveringOrNext | kFileBacked;
  query.query_addr = address_of(memory);
  if (maps_ >= 0 && ioctl(maps_, kProcmapQuery, &query) == 0) {
    return query.vma_start < address_of(memory) + size_bytes ? Backing::file : Backing::anonymous;
  }
  if (maps_ >= 0 && errno == ENOENT) return Backing::anonymous;
  if (!partly_untouched(memory, size_bytes)) return Backing::unknown;
  try {
    const auto maps = host::read_text("/proc/self/maps");
    return maps ? backing_in_maps(maps->c_str(), memory, size_bytes) : Backing::unknown;
  } catch (const std::exception&) {
    return Backing::unknown;
  }
}

Backing backing_in_maps(const char* maps, const std::byte* memory,
                        std::size_t size_bytes) noexcept {
  const std::uintptr_t first = address_of(memory);
  std::uintptr_t covered_until = first;
  for (std::string_view rest = maps; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::uintptr_t begin = take_address(line);
    const std::uintptr_t end = take_address(line);
    if (end <= first || begin >= first + size_bytes) continue;
    if (names_file(line)) return Backing::file;
    if (begin <= covered_until) covered_until = end;
  }
  return covered_until >= first + size_bytes ? Backing::anonymous : Backing::unknown;
}

bool partly_untouched(const std::byte* memory, std::size_t size_bytes) noexcept {
  // Not the ends: a neighbour in the same page, or the allocator's own notes, may have touched
  // them.
  for (const std::size_t quarter : {2U, 3U, 1U}) {
    if (!resident(memory + size_bytes / 4 * quarter)) return true;
  }
  return false;
}

bool readable(const std::byte* byte) noexcept {
  return madvise(page_of(byte), 1, MADV_POPULATE_READ) == 0 || errno != EFAULT;
}

}  // namespace isthmus::transfer
