#include "transfer/request/memory_range.hpp"

#include <isthmus/errors.hpp>

#include "device/pointer_facts.hpp"
#include "window/allocation.hpp"

namespace isthmus::transfer {
namespace {

MemoryKind kind_of(const PointerFacts& facts) {
  if (facts.managed != 0) return MemoryKind::managed;
  if (facts.memory_type == CU_MEMORYTYPE_HOST) return MemoryKind::pinned;
  if (facts.memory_type == CU_MEMORYTYPE_DEVICE) return MemoryKind::device;
  return MemoryKind::pageable;
}

}  // namespace

MemoryRange range_at(const Driver& driver, std::uintptr_t address) {
  const PointerFacts facts = pointer_facts(driver, address);
  const MemoryKind kind = kind_of(facts);
  if (kind == MemoryKind::pageable) return {};
  return {kind, facts.device, facts.base, facts.size_bytes, facts.buffer_id};
}

bool reaches_past(const MemoryRange& range, std::uintptr_t address, std::size_t size_bytes) {
  if (range.kind == MemoryKind::pageable || range.size_bytes == 0) return false;
  return size_bytes > range.base + range.size_bytes - address;
}

bool is_pinned_whole(const Driver& driver, const MemoryRange& range, std::uintptr_t address,
                     std::size_t size_bytes) {
  return range.kind == MemoryKind::pinned &&
         (!reaches_past(range, address, size_bytes) || is_pinned(driver, address, size_bytes));
}

void require_inside(const Driver& driver, const MemoryRange& range, std::uintptr_t address,
                    std::size_t size_bytes, const char* role) {
  // The memory after a registration is the host's, too.
  if (range.kind == MemoryKind::pinned || !reaches_past(range, address, size_bytes)) return;
  // The memory after a mapping may be the next mapping of the same array.
  const std::uintptr_t end = range.base + range.size_bytes;
  const MemoryRange next = range_at(driver, end);
  const MemoryRange last = range_at(driver, address + size_bytes - 1);
  const bool goes_on = next.kind == range.kind && next.device == range.device &&
                       last.kind == range.kind && last.device == range.device;
  const bool joined = range.kind == MemoryKind::device && window::is_mapping(driver, address) &&
                      window::is_mapping(driver, end);
  if (goes_on && joined) return;
  throw UsageError("the " + std::string(role) + " of the copy has " +
                   std::to_string(end - address) + " bytes from its address on; " +
                   std::to_string(size_bytes) + " were asked for");
}

}  // namespace isthmus::transfer
