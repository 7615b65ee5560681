#include "transfer/pinned/memory_backing.hpp"

#include <cerrno>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "host/memory/pages.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::transfer {
namespace {

std::uintptr_t address_of(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

}  // namespace

Backing MemoryBacking::of(const std::byte* memory, std::size_t size_bytes) const noexcept {
  std::uintptr_t from = address_of(memory);
  const std::uintptr_t end = from + size_bytes;
  while (from < end) {
    const auto answer = map_.find(from, host::MemoryMap::Wanted::file_from_here);
    if (!answer.known) break;
    if (!answer.mapping || answer.mapping->begin >= end) return Backing::anonymous;
    if (!answer.mapping->keeps_size) return Backing::file;
    from = answer.mapping->end;
  }
  if (from >= end) return Backing::anonymous;
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
    const auto mapping = host::take_mapping(rest);
    if (!mapping || mapping->end <= first || mapping->begin >= first + size_bytes) continue;
    if (mapping->has_file) return Backing::file;
    if (mapping->begin <= covered_until) covered_until = mapping->end;
  }
  return covered_until >= first + size_bytes ? Backing::anonymous : Backing::unknown;
}

bool partly_untouched(const std::byte* memory, std::size_t size_bytes) noexcept {
  // Not the ends: a neighbour in the same page, or the allocator's own data, may have touched them.
  for (const std::size_t quarter : {2U, 3U, 1U}) {
    if (!host::is_resident(memory + size_bytes / 4 * quarter)) return true;
  }
  return false;
}

bool readable(const std::byte* byte) noexcept {
  return host::populate(host::Pages(byte, 1), host::Access::read) != EFAULT;
}

}  // namespace isthmus::transfer
