#include "paged/host_registration.hpp"

#include <cstdint>
#include <string>

#include <unistd.h>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/cleanup.hpp"
#include "device/pointer_facts.hpp"

namespace isthmus {
namespace {

struct Pages {
  std::uintptr_t begin;
  std::size_t size_bytes;
};

Pages pages_of(const void* memory, std::size_t size_bytes) {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = address / page_bytes * page_bytes;
  const std::uintptr_t end = (address + size_bytes + page_bytes - 1) / page_bytes * page_bytes;
  return {begin, end - begin};
}

bool is_pinned(const Driver& driver, const void* memory, std::size_t size_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(memory);
  for (const std::uintptr_t address : {first, first + size_bytes - 1}) {
    const PointerFacts facts = pointer_facts(driver, address);
    if (facts.memory_type != CU_MEMORYTYPE_HOST || facts.managed != 0) return false;
  }
  return true;
}

constexpr const char* kNeeds =
    "an array of isthmus.pinned.empty(), which is pinned already; or memory that this process may "
    "write, none of whose pages another paged array or library has pinned";

}  // namespace

HostRegistration::HostRegistration(const Context& context, void* memory, std::size_t size_bytes,
                                   bool read_only)
    : context_(context) {
  const Driver& driver = context_.driver();
  const CurrentContext current(context_);
  const ScopedRelaxedCapture relaxed(driver);  // pinning is not part of any capture
  if (!is_pinned(driver, memory, size_bytes)) {
    const Pages pages = pages_of(memory, size_bytes);
    const CUresult result = driver.raw(symbol::mem_host_register)(
        reinterpret_cast<void*>(pages.begin), pages.size_bytes,
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (result != CUDA_SUCCESS)
      throw Unavailable("host memory that the GPU can read",
                        "cuMemHostRegister of " + std::to_string(pages.size_bytes) + " bytes: " +
                            driver.name_of(result) + (read_only ? " (the array is read-only)" : ""),
                        kNeeds);
    pages_ = reinterpret_cast<void*>(pages.begin);
  }
  const CUresult found =
      driver.raw(symbol::mem_host_get_device_pointer)(&device_pointer_, memory, 0U);
  if (found == CUDA_SUCCESS) return;
  if (pages_ != nullptr) driver.raw(symbol::mem_host_unregister)(pages_);
  driver.check(found, symbol::mem_host_get_device_pointer.name);
}

HostRegistration::~HostRegistration() {
  if (pages_ == nullptr || !context_.in_own_process()) return;
  const Driver& driver = context_.driver();
  const ScopedRelaxedCapture relaxed(driver);
  const auto push = driver.raw(symbol::ctx_push_current);
  CUresult pushed = push(context_.handle());
  // Once more: pages that stay registered couldn't be registered again by their next owner.
  if (pushed != CUDA_SUCCESS) pushed = push(context_.handle());
  report_cleanup(driver, pushed, symbol::ctx_push_current.name);
  report_cleanup(driver, driver.raw(symbol::mem_host_unregister)(pages_),
                 symbol::mem_host_unregister.name);
  CUcontext popped = nullptr;
  if (pushed == CUDA_SUCCESS) driver.raw(symbol::ctx_pop_current)(&popped);
}

}  // namespace isthmus
