#include "transfer/memory_range.hpp"

#include <array>

#include <isthmus/errors.hpp>

#include "host/own_memory.hpp"
#include "window/allocation.hpp"

namespace isthmus::transfer {
namespace {

struct Facts {
  unsigned memory_type = 0;
  unsigned managed = 0;
  int device = -1;
  unsigned long long buffer_id = 0;
  CUdeviceptr base = 0;
  std::size_t size_bytes = 0;
};

// The plural form answers zeroes for what CUDA doesn't know, where the singular one fails, slowly.
Facts facts_of(const Driver& driver, std::uintptr_t address) {
  Facts facts;
  std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_BUFFER_ID,
                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  std::array<void*, 6> answers{static_cast<void*>(&facts.memory_type),
                               &facts.managed,
                               &facts.device,
                               &facts.buffer_id,
                               &facts.base,
                               &facts.size_bytes};
  driver.call(symbol::pointer_get_attributes)(static_cast<unsigned>(attributes.size()),
                                              attributes.data(), answers.data(),
                                              CUdeviceptr{address});
  return facts;
}

/// CU_MEMORYTYPE_*; 0 for what CUDA doesn't know.
unsigned memory_type_at(const Driver& driver, std::uintptr_t address) noexcept {
  unsigned type = 0;
  void* answer = &type;
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  const auto ask = driver.raw(symbol::pointer_get_attributes);
  return ask(1, &attribute, &answer, CUdeviceptr{address}) == CUDA_SUCCESS ? type : 0;
}

MemoryKind kind_of(const Facts& facts) {
  if (facts.managed != 0) return MemoryKind::managed;
  if (facts.memory_type == CU_MEMORYTYPE_HOST) return MemoryKind::pinned;
  if (facts.memory_type == CU_MEMORYTYPE_DEVICE) return MemoryKind::device;
  return MemoryKind::pageable;
}

}  // namespace

MemoryRange range_at(const Driver& driver, std::uintptr_t address) {
  const Facts facts = facts_of(driver, address);
  const MemoryKind kind = kind_of(facts);
  if (kind == MemoryKind::pageable) return {};
  return {kind, facts.device, facts.base, facts.size_bytes, facts.buffer_id};
}

bool is_touchable_host_memory(const Driver& driver, const void* begin, std::size_t size_bytes,
                              host::Access access) noexcept {
  if (host::is_own_memory(begin)) return true;
  const unsigned type = memory_type_at(driver, reinterpret_cast<std::uintptr_t>(begin));
  if (type == CU_MEMORYTYPE_HOST) return true;
  return type == 0 && host::can_touch_ends(begin, size_bytes, access);
}

bool reaches_past(const MemoryRange& range, std::uintptr_t address, std::size_t size_bytes) {
  if (range.kind == MemoryKind::pageable || range.size_bytes == 0) return false;
  return size_bytes > range.base + range.size_bytes - address;
}

void require_inside(const Driver& driver, const MemoryRange& range, std::uintptr_t address,
                    std::size_t size_bytes, const char* role) {
  // What follows a registration is the host's memory as well.
  if (range.kind == MemoryKind::pinned || !reaches_past(range, address, size_bytes)) return;
  // What follows a mapping may be the next one of the same array.
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
