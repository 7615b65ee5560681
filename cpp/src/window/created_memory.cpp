#include "window/created_memory.hpp"

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::window {
namespace {

void require_symbols(const Driver& driver) {
  if (!driver.has(symbol::mem_get_allocation_granularity) || !driver.has(symbol::mem_create) ||
      !driver.has(symbol::mem_release) || !driver.has(symbol::mem_address_reserve) ||
      !driver.has(symbol::mem_address_free) || !driver.has(symbol::mem_map) ||
      !driver.has(symbol::mem_unmap) || !driver.has(symbol::mem_set_access))
    throw Unavailable("memory of cuMemCreate", "the driver lacks cuMemCreate or its companions",
                      "a driver for CUDA 12.2 or later");
}

}  // namespace

// Once the other constructor has returned, the destructor frees what this one made before it threw.
CreatedMemory::CreatedMemory(const Context& context, std::size_t min_bytes,
                             CUmemAllocationHandleType exported_as)
    : CreatedMemory(context) {
  require_symbols(context.driver());
  make(min_bytes, exported_as);
}

void CreatedMemory::make(std::size_t min_bytes, CUmemAllocationHandleType exported_as) {
  const Driver& driver = context_.driver();
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, context_.device().ordinal};
  properties.requestedHandleTypes = exported_as;
  std::size_t granule_bytes = 0;
  driver.call(symbol::mem_get_allocation_granularity)(&granule_bytes, &properties,
                                                      CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  size_bytes_ = host::round_up(min_bytes, granule_bytes);
  driver.call(symbol::mem_create)(&handle_, size_bytes_, &properties, 0ull);
  driver.call(symbol::mem_address_reserve)(&pointer_, size_bytes_, std::size_t{0}, CUdeviceptr{0},
                                           0ull);
  driver.call(symbol::mem_map)(pointer_, size_bytes_, std::size_t{0}, handle_, 0ull);
  mapped_ = true;
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  driver.call(symbol::mem_set_access)(pointer_, size_bytes_, &access, std::size_t{1});
}

void CreatedMemory::give_back() const noexcept {
  const Driver& driver = context_.driver();
  const auto call = [&driver](auto symbol, auto... arguments) {
    report_cleanup(driver, driver.raw(symbol)(arguments...), symbol.name);
  };
  if (mapped_) call(symbol::mem_unmap, pointer_, size_bytes_);
  if (pointer_ != 0) call(symbol::mem_address_free, pointer_, size_bytes_);
  if (handle_ != 0) call(symbol::mem_release, handle_);
}

CreatedMemory::~CreatedMemory() {
  if (!context_.in_own_process()) return;
  const Driver& driver = context_.driver();
  const ScopedRelaxedCapture relaxed(driver);  // freeing is not part of a capture
  const CUresult pushed = driver.raw(symbol::ctx_push_current)(context_.handle());
  report_cleanup(driver, pushed, symbol::ctx_push_current.name);
  give_back();
  CUcontext popped = nullptr;
  if (pushed == CUDA_SUCCESS) driver.raw(symbol::ctx_pop_current)(&popped);
}

}  // namespace isthmus::window
