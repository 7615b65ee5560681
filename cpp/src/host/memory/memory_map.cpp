#include "host/memory/memory_map.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace isthmus::host {
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
constexpr std::uint64_t kReadable = 0x1;
constexpr std::uint64_t kWritable = 0x2;
constexpr std::uint64_t kShared = 0x8;
constexpr std::uint64_t kCoveringOrNext = 0x10;
constexpr std::uint64_t kFileBacked = 0x20;

constexpr std::size_t kNumPermissions = 4;  // "rw-p"

/// Reads a hexadecimal number at the start of `text`, and removes it and the following character.
std::uintptr_t take_address(std::string_view& text) noexcept {
  std::uintptr_t address = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), address, 16);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return address;
}

/// "rw-p 00000000 00:00 0": the fourth field is the file's inode.
bool names_file(std::string_view fields) noexcept {
  for (int field = 0; field < 3; ++field)
    fields.remove_prefix(std::min(fields.find(' '), fields.size() - 1) + 1);
  return !fields.empty() && fields.front() != '0';
}

}  // namespace

std::optional<Mapping> take_mapping(std::string_view& text) noexcept {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  Mapping mapping;
  mapping.begin = take_address(line);
  mapping.end = take_address(line);
  if (mapping.end <= mapping.begin || line.size() < kNumPermissions) return std::nullopt;
  mapping.readable = line[0] == 'r';
  mapping.writable = line[1] == 'w';
  mapping.shared = line[3] == 's';
  mapping.has_file = names_file(line);
  return mapping;
}

MemoryMap::MemoryMap() noexcept : file_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}

MemoryMap::~MemoryMap() {
  if (file_ >= 0) close(file_);
}

MemoryMap::Answer MemoryMap::find(std::uintptr_t address, Wanted wanted) const noexcept {
  if (file_ < 0) return {};
  ProcmapQuery query{};
  query.size = sizeof query;
  query.query_flags = wanted == Wanted::covering ? 0 : kCoveringOrNext | kFileBacked;
  query.query_addr = address;
  const int before = errno;
  const int error = ioctl(file_, kProcmapQuery, &query) == 0 ? 0 : errno;
  errno = before;
  if (error != 0) return {error == ENOENT, std::nullopt};
  Mapping mapping;
  mapping.begin = query.vma_start;
  mapping.end = query.vma_end;
  mapping.readable = (query.vma_flags & kReadable) != 0;
  mapping.writable = (query.vma_flags & kWritable) != 0;
  mapping.shared = (query.vma_flags & kShared) != 0;
  mapping.has_file = query.inode != 0 || query.dev_major != 0 || query.dev_minor != 0;
  return {true, mapping};
}

}  // namespace isthmus::host
