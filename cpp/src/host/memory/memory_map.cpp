#include "host/memory/memory_map.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <string>

#include "host/system/text_file.hpp"

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

/// Reads a number at the start of `text`, and removes it and the following character.
std::uint64_t take_number(std::string_view& text, int base = 16) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.empty()) text.remove_prefix(1);
  return number;
}

/// "00001000 08:01 1234": what follows the permissions.
void take_file(std::string_view fields, Mapping& mapping) noexcept {
  mapping.offset_bytes = take_number(fields);
  const std::uint64_t major = take_number(fields);
  mapping.file_system = major << 32U | take_number(fields);
  mapping.inode = take_number(fields, 10);
  mapping.has_file = mapping.inode != 0;
}

/// For a mapping that begins where the other ends.
void join(Mapping& joined, const Mapping& next) noexcept {
  joined.end = next.end;
  joined.readable = joined.readable && next.readable;
  joined.writable = joined.writable && next.writable;
  joined.shared = joined.shared || next.shared;
  joined.has_file = joined.has_file || next.has_file;
  joined.keeps_size = joined.keeps_size && next.keeps_size;
}

/// Longer names are those of files. Source: mm/shmem.c and ipc/shm.c of Linux.
constexpr std::size_t kMaxNameBytes = 256;
bool is_of_memory_without_descriptor(std::string_view name) noexcept {
  return name == "/dev/zero (deleted)" ||
         (name.starts_with("/SYSV") && name.ends_with(" (deleted)"));
}

}  // namespace

std::optional<Mapping> take_mapping(std::string_view& text) noexcept {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  Mapping mapping;
  mapping.begin = take_number(line);
  mapping.end = take_number(line);
  if (mapping.end <= mapping.begin || line.size() < kNumPermissions) return std::nullopt;
  mapping.readable = line[0] == 'r';
  mapping.writable = line[1] == 'w';
  mapping.shared = line[3] == 's';
  line.remove_prefix(std::min(kNumPermissions + 1, line.size()));
  take_file(line, mapping);
  return mapping;
}

std::optional<Mapping> mapping_at(std::uintptr_t address) {
  const MemoryMap::Answer answer = MemoryMap().find(address, MemoryMap::Wanted::covering);
  if (answer.known) return answer.mapping;
  const std::string maps = read_text("/proc/self/maps").value_or("");
  for (std::string_view rest = maps; !rest.empty();) {
    const auto mapping = take_mapping(rest);
    if (mapping && mapping->begin <= address && address < mapping->end) return mapping;
  }
  return std::nullopt;
}

MemoryMap::MemoryMap() noexcept : file_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}

MemoryMap::~MemoryMap() {
  if (file_ >= 0) close(file_);
}

MemoryMap::Answer MemoryMap::find(std::uintptr_t address, Wanted wanted) const noexcept {
  if (file_ < 0) return {};
  std::array<char, kMaxNameBytes> name;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  ProcmapQuery query{};
  query.size = sizeof query;
  query.query_flags = wanted == Wanted::covering ? 0 : kCoveringOrNext | kFileBacked;
  query.query_addr = address;
  query.vma_name_addr = reinterpret_cast<std::uintptr_t>(name.data());
  query.vma_name_size = kMaxNameBytes;
  const int before = errno;
  int error = ioctl(file_, kProcmapQuery, &query) == 0 ? 0 : errno;
  if (error == ENAMETOOLONG) {
    query.vma_name_addr = query.vma_name_size = 0;
    error = ioctl(file_, kProcmapQuery, &query) == 0 ? 0 : errno;
  }
  errno = before;
  if (error != 0) return {error == ENOENT, std::nullopt};
  Mapping mapping;
  mapping.begin = query.vma_start;
  mapping.end = query.vma_end;
  mapping.readable = (query.vma_flags & kReadable) != 0;
  mapping.writable = (query.vma_flags & kWritable) != 0;
  mapping.shared = (query.vma_flags & kShared) != 0;
  mapping.offset_bytes = query.vma_offset;
  mapping.file_system = std::uint64_t{query.dev_major} << 32U | query.dev_minor;
  mapping.inode = query.inode;
  mapping.has_file = query.inode != 0 || query.dev_major != 0 || query.dev_minor != 0;
  mapping.keeps_size = mapping.shared && query.vma_name_size > 0 &&
                       is_of_memory_without_descriptor({name.data(), query.vma_name_size - 1});
  return {true, mapping};
}

MemoryMap::Answer MemoryMap::find_joined(std::uintptr_t begin, std::uintptr_t end) const noexcept {
  Answer joined = find(begin, Wanted::covering);
  while (joined.mapping && joined.mapping->end < end) {
    const Answer next = find(joined.mapping->end, Wanted::covering);
    if (!next.mapping) return next;
    join(*joined.mapping, *next.mapping);
  }
  return joined;
}

namespace {

constexpr Tick kNsPerSecond = 1'000'000'000;

}  // namespace

Tick this_tick() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return Tick{now.tv_sec} * kNsPerSecond + now.tv_nsec;
}

void RecentMappings::remember(const Mapping& mapping, Tick now) noexcept {
  if (now != tick_) forget();
  tick_ = now;
  entries_[next_] = {mapping.begin, mapping.end, mapping.is_ordinary()};
  next_ = (next_ + 1) % kMaxEntries;
}

void RecentMappings::forget() noexcept { *this = RecentMappings{}; }

}  // namespace isthmus::host
