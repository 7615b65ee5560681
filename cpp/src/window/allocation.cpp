#include "window/allocation.hpp"

#include <isthmus/errors.hpp>

#include "device/pointer_facts.hpp"
#include "host/system/printable.hpp"

namespace isthmus::window {
namespace {

void require_device_memory(const PointerFacts& facts, std::uintptr_t pointer) {
  const std::string subject = "a window can't be opened on " + host::address_text(pointer) + ": ";
  if (facts.managed != 0)
    throw UsageError(subject +
                     "it is managed memory, which moves between host and device by itself; the CPU "
                     "can use it as it is, or take memory from cudaMalloc");
  if (facts.memory_type == CU_MEMORYTYPE_HOST)
    throw UsageError(subject +
                     "it is host memory, which the CPU can use as it is; give the address "
                     "of device memory");
  if (facts.memory_type != CU_MEMORYTYPE_DEVICE || facts.buffer_id == 0)
    throw UsageError(subject +
                     "CUDA knows no memory there; it was never allocated, or it has been freed, or "
                     "it is ordinary host memory");
}

Allocation allocation_at(const Driver& driver, std::uintptr_t pointer) {
  const PointerFacts facts = pointer_facts(driver, pointer);
  require_device_memory(facts, pointer);
  CUdeviceptr base = 0;
  Allocation allocation;
  // The driver finds no range for another device's memory (driver 580: CUDA_ERROR_NOT_FOUND).
  const ContextOfDevice context(driver, facts.device);
  driver.call(symbol::mem_get_address_range)(&base, &allocation.size_bytes, CUdeviceptr{pointer});
  allocation.base = base;
  allocation.buffer_id = facts.buffer_id;
  allocation.device = facts.device;
  allocation.context = facts.context;
  return allocation;
}

[[noreturn]] void refuse_length(const Allocation& last, std::uintptr_t pointer,
                                std::size_t size_bytes, const char* remark = "") {
  throw UsageError("a window of " + std::to_string(size_bytes) + " bytes at " +
                   host::address_text(pointer) + " reaches past the end of its buffer, which has " +
                   std::to_string(last.base + last.size_bytes - pointer) + " bytes from there on" +
                   remark);
}

[[noreturn]] void refuse_devices(const std::vector<Allocation>& found) {
  throw UsageError("a window from " + host::address_text(found.front().base) +
                   " on reaches from memory of GPU " + std::to_string(found.front().device) +
                   " into memory of GPU " + std::to_string(found.back().device) +
                   "; open one window on each GPU's part");
}

}  // namespace

std::optional<int> device_in_use(const Driver& driver) {
  const int num_devices = driver.has(symbol::primary_ctx_get_state) ? driver.device_count() : 0;
  for (int ordinal = 0; ordinal < num_devices; ++ordinal) {
    CUdevice device = 0;
    unsigned flags = 0;
    int active = 0;
    driver.call(symbol::device_get)(&device, ordinal);
    driver.call(symbol::primary_ctx_get_state)(device, &flags, &active);
    if (active != 0) return ordinal;
  }
  return std::nullopt;
}

AnyContext::AnyContext(const Driver& driver) {
  driver.require_devices();
  CUcontext current = nullptr;
  driver.call(symbol::ctx_get_current)(&current);
  if (current != nullptr) return;
  context_.emplace(driver, device_in_use(driver).value_or(0));
  current_.emplace(*context_);
}

bool is_mapping(const Driver& driver, std::uintptr_t pointer) {
  CUmemGenericAllocationHandle handle = 0;
  const auto retain = driver.raw(symbol::mem_retain_allocation_handle);
  if (retain == nullptr || retain(&handle, reinterpret_cast<void*>(pointer)) != CUDA_SUCCESS)
    return false;
  driver.call(symbol::mem_release)(handle);
  return true;
}

std::vector<Allocation> allocations_of(const Driver& driver, std::uintptr_t pointer,
                                       std::size_t size_bytes) {
  if (pointer == 0) throw UsageError("a window can't be opened on a null pointer");
  if (size_bytes == 0) throw UsageError("a window must have at least one byte; 0 were asked for");
  std::vector<Allocation> found{allocation_at(driver, pointer)};
  if (size_bytes > UINTPTR_MAX - pointer) refuse_length(found.back(), pointer, size_bytes);
  const std::uintptr_t end = pointer + size_bytes;
  // Adjacent mappings of cuMemMap may be one array to their owner. A buffer from cudaMalloc is
  // complete: its neighbour is another buffer.
  while (found.back().base + found.back().size_bytes < end) {
    const std::uintptr_t next = found.back().base + found.back().size_bytes;
    if (!is_mapping(driver, found.back().base)) refuse_length(found.back(), pointer, size_bytes);
    if (!is_mapping(driver, next))
      refuse_length(found.back(), pointer, size_bytes, "; nothing is mapped after it (cuMemMap)");
    found.push_back(allocation_at(driver, next));
    if (found.back().device != found.front().device) refuse_devices(found);
  }
  return found;
}

std::uint64_t buffer_id_at(const Driver& driver, std::uintptr_t pointer) noexcept {
  unsigned long long id = 0;
  const auto get = driver.raw(symbol::pointer_get_attribute);
  if (get == nullptr ||
      get(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, CUdeviceptr{pointer}) != CUDA_SUCCESS)
    return 0;
  return id;
}

std::uint64_t buffer_id_at(const Context& context, std::uintptr_t pointer) noexcept {
  const Driver& driver = context.driver();
  const std::uint64_t id = buffer_id_at(driver, pointer);
  if (id != 0) return id;
  if (driver.raw(symbol::ctx_push_current)(context.handle()) != CUDA_SUCCESS) return 0;
  const std::uint64_t asked_again = buffer_id_at(driver, pointer);
  CUcontext popped = nullptr;
  driver.raw(symbol::ctx_pop_current)(&popped);
  return asked_again;
}

std::uint64_t require_buffer_id_at(const Context& context, std::uintptr_t pointer) {
  const Driver& driver = context.driver();
  const CurrentContext current(context);
  unsigned long long id = 0;
  const CUresult result = driver.raw(symbol::pointer_get_attribute)(
      &id, CU_POINTER_ATTRIBUTE_BUFFER_ID, CUdeviceptr{pointer});
  if (result == CUDA_ERROR_INVALID_VALUE) return 0;
  driver.check(result, symbol::pointer_get_attribute.name);
  return id;
}

}  // namespace isthmus::window
