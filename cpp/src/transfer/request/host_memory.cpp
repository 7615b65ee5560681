#include "transfer/request/host_memory.hpp"

#include <cstdint>

#include "device/pointer_facts.hpp"
#include "driver/forks.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::transfer {
namespace {

/// A child of fork() has other mappings than its parent, so what the parent knew doesn't hold
/// there.
struct MappingsOfThread {
  std::uint64_t process = 0;
  host::RecentMappings recent;
};
constinit thread_local MappingsOfThread mappings_of_thread;

host::RecentMappings& recent_mappings() noexcept {
  MappingsOfThread& mine = mappings_of_thread;
  if (mine.process != process_generation()) {
    mine.recent.forget();
    mine.process = process_generation();
  }
  return mine.recent;
}

bool allows(const host::Mapping& mapping, host::Access access) noexcept {
  return access == host::Access::read ? mapping.readable : mapping.writable;
}

/// Not shared memory that is shorter than its mapping, as mremap() makes it.
bool is_whole(const host::Mapping& mapping) noexcept {
  if (!mapping.is_ordinary()) return false;
  return !mapping.keeps_size ||
         host::can_touch(reinterpret_cast<const void*>(mapping.end - 1), 1, host::Access::read);
}

}  // namespace

HostTouch HostMemory::touch(const void* begin, std::size_t size_bytes,
                            host::Access access) const noexcept {
  if (is_known(begin, size_bytes)) return HostTouch::direct;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const unsigned type = memory_type_at(driver_, first);
  if (type == 0) return touch_pageable(begin, size_bytes, access);
  if (type != CU_MEMORYTYPE_HOST) return HostTouch::forbidden;
  if (is_ordinary(begin, size_bytes)) return HostTouch::direct;
  // Pinned memory may be touched, and stays as long as it is pinned. Memory pages after it may belong
  // to anything.
  const bool all_pinned =
      host::Pages(begin, size_bytes).count() == 1 || is_pinned(driver_, first, size_bytes);
  return all_pinned ? HostTouch::direct : touch_mappings(begin, size_bytes, access);
}

HostTouch HostMemory::touch_pageable(const void* begin, std::size_t size_bytes,
                                     host::Access access) const noexcept {
  if (is_known(begin, size_bytes)) return HostTouch::direct;
  return touch_mappings(begin, size_bytes, access);
}

/// Asks the kernel about the mapping, or several, such as those of an array of which the middle has
/// huge pages.
HostTouch HostMemory::touch_mappings(const void* begin, std::size_t size_bytes,
                                     host::Access access) const noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  if (first + size_bytes <= first) return HostTouch::forbidden;  // beyond the last address
  const auto [is_told, mapping] = map_.find_joined(first, first + size_bytes);
  if (!is_told) {
    const bool may_be =
        host::can_touch(begin, size_bytes, access) && host::is_mapped(begin, size_bytes);
    return may_be ? HostTouch::direct : HostTouch::forbidden;
  }
  if (!mapping || !allows(*mapping, access)) return HostTouch::forbidden;
  if (is_whole(*mapping)) {
    recent_mappings().remember(*mapping, clock_());
    return HostTouch::direct;
  }
  if (!mapping->has_file)
    return host::can_touch(begin, size_bytes, access) ? HostTouch::direct : HostTouch::forbidden;
  // A file may end before its mapping does. If it has the last page, it has those before.
  const auto* const last = static_cast<const std::byte*>(begin) + size_bytes - 1;
  return host::can_touch(last, 1, access) ? HostTouch::by_kernel : HostTouch::forbidden;
}

bool HostMemory::is_known(const void* begin, std::size_t size_bytes) const noexcept {
  if (host::is_own_memory(begin, size_bytes)) return true;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  return recent_mappings().is_ordinary(first, first + size_bytes - 1, clock_()).value_or(false);
}

/// Also false if the range lies in several mappings that aren't known together: anything may lie
/// between them.
bool HostMemory::is_ordinary(const void* begin, std::size_t size_bytes) const noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const auto answer = map_.find(first, host::MemoryMap::Wanted::covering);
  if (!answer.mapping || !is_whole(*answer.mapping)) return false;
  recent_mappings().remember(*answer.mapping, clock_());
  return first + size_bytes <= answer.mapping->end;
}

}  // namespace isthmus::transfer
