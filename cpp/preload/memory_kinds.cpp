// What kind of memory an address is, remembered until the program allocates, frees or pins.
#include "preload/binding.hpp"
#include "preload/reading.hpp"
#include "preload/threads.hpp"

namespace isthmus::preload {
namespace {

constexpr unsigned kPageBits = 12;

u32 epoch = 1;

}  // namespace

Kind kind_now(const void* pointer) {
  const auto attributes = driver.pointer_attributes;
  if (attributes == nullptr) return kNone;
  unsigned type = 0;
  unsigned is_managed = 0;
  CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* values[] = {&type, &is_managed};
  if (attributes(2, names, values, reinterpret_cast<CUdeviceptr>(pointer)) != CUDA_SUCCESS)
    return kPageable;
  if (is_managed != 0 || type == CU_MEMORYTYPE_UNIFIED) return kManaged;
  if (type == CU_MEMORYTYPE_HOST) return kPinned;
  if (type == CU_MEMORYTYPE_DEVICE) return kDevice;
  return type == CU_MEMORYTYPE_ARRAY ? kArray : kPageable;
}

void forget_kinds(const What&, CUresult) { __atomic_fetch_add(&epoch, 1, __ATOMIC_RELAXED); }

Kind kind_of(const void* pointer) {
  if (pointer == nullptr) return kNone;
  Thread* const thread = this_thread();
  if (thread == nullptr || !thread->is_own) return kind_now(pointer);
  const uintptr_t page = reinterpret_cast<uintptr_t>(pointer) >> kPageBits;
  const u32 now = __atomic_load_n(&epoch, __ATOMIC_RELAXED);
  KnownKind& known = thread->kinds[page % (sizeof thread->kinds / sizeof known)];
  if (known.page != page || known.epoch != now) known = {page, now, kind_now(pointer)};
  return known.kind;
}

}  // namespace isthmus::preload
