#include "transfer/copy/host_memory.hpp"

#include <cstdint>

#include "device/pointer_facts.hpp"
#include "driver/forks.hpp"
#include "host/memory/own_memory.hpp"
#include "host/memory/page_access.hpp"

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
  const bool all_pinned = host::Pages(begin, size_bytes).count() == 1 ||
                          memory_type_at(driver_, first + size_bytes - 1) == CU_MEMORYTYPE_HOST;
  if (all_pinned) return HostTouch::direct;
  return host::can_touch(begin, size_bytes, access) ? touch_of_pages(begin, size_bytes)
                                                    : HostTouch::forbidden;
}

HostTouch HostMemory::touch_pageable(const void* begin, std::size_t size_bytes,
                                     host::Access access) const noexcept {
  if (host::is_own_memory(begin, size_bytes) || is_ordinary(begin, size_bytes))
    return HostTouch::direct;
  if (!host::can_touch(begin, size_bytes, access)) return HostTouch::forbidden;
  return touch_of_pages(begin, size_bytes);
}

/// For pages that are present now.
HostTouch HostMemory::touch_of_pages(const void* begin, std::size_t size_bytes) const noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  const auto answer = map_.find(first, host::MemoryMap::Wanted::file_from_here);
  const bool has_file = answer.mapping && answer.mapping->begin < first + size_bytes;
  return has_file ? HostTouch::by_kernel : HostTouch::direct;
}

bool HostMemory::is_known(const void* begin, std::size_t size_bytes) const noexcept {
  if (host::is_own_memory(begin, size_bytes)) return true;
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  return recent_mappings().is_ordinary(first, first + size_bytes - 1, clock_()).value_or(false);
}

/// Also false if the range lies in several mappings: anything may lie between them. Asks the kernel
/// once per tick.
bool HostMemory::is_ordinary(const void* begin, std::size_t size_bytes) const noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  host::RecentMappings& recent = recent_mappings();
  const host::Tick now = clock_();
  if (const auto known = recent.is_ordinary(first, first + size_bytes - 1, now)) return *known;
  const auto answer = map_.find(first, host::MemoryMap::Wanted::covering);
  if (!answer.mapping) return false;
  recent.remember(*answer.mapping, now);
  return answer.mapping->is_ordinary() && first + size_bytes <= answer.mapping->end;
}

}  // namespace isthmus::transfer
