#include "device/pointer_facts.hpp"

#include <array>

namespace isthmus {
namespace {

/// What of PointerFacts matters to the CPU, which the driver tells in less time.
struct HostRange {
  unsigned memory_type = 0;
  CUdeviceptr base = 0;
  std::size_t size_bytes = 0;
};

/// Without facts if the driver doesn't answer.
HostRange host_range_at(const Driver& driver, std::uintptr_t address) noexcept {
  HostRange range;
  std::array attributes{CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  std::array<void*, attributes.size()> answers{&range.memory_type, &range.base, &range.size_bytes};
  const auto ask = driver.raw(symbol::pointer_get_attributes);
  if (ask == nullptr) return {};
  const CUresult result = ask(static_cast<unsigned>(attributes.size()), attributes.data(),
                              answers.data(), CUdeviceptr{address});
  return result == CUDA_SUCCESS ? range : HostRange{};
}

}  // namespace

// For addresses unknown to CUDA the plural form returns zeroes; the singular one fails, slowly.
PointerFacts pointer_facts(const Driver& driver, std::uintptr_t address) {
  PointerFacts facts;
  std::array attributes{CU_POINTER_ATTRIBUTE_CONTEXT,    CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                        CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                        CU_POINTER_ATTRIBUTE_BUFFER_ID,  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  std::array<void*, attributes.size()> answers{static_cast<void*>(&facts.context),
                                               &facts.memory_type,
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

unsigned memory_type_at(const Driver& driver, std::uintptr_t address) noexcept {
  unsigned type = 0;
  void* answer = &type;
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  const auto ask = driver.raw(symbol::pointer_get_attributes);
  if (ask == nullptr) return 0;
  return ask(1, &attribute, &answer, CUdeviceptr{address}) == CUDA_SUCCESS ? type : 0;
}

bool is_pinned(const Driver& driver, std::uintptr_t address, std::size_t size_bytes) noexcept {
  const std::uintptr_t end = address + size_bytes;
  while (address < end) {
    const HostRange range = host_range_at(driver, address);
    if (range.memory_type != CU_MEMORYTYPE_HOST) return false;
    const std::uintptr_t next = range.base + range.size_bytes;
    if (next <= address) return memory_type_at(driver, end - 1) == CU_MEMORYTYPE_HOST;
    address = next;
  }
  return true;
}

}  // namespace isthmus
