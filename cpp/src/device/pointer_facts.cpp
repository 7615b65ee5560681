#include "device/pointer_facts.hpp"

#include <array>

namespace isthmus {

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

}  // namespace isthmus
