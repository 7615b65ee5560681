// cuMemHostAlloc, cuMemHostRegister and their counterparts: host memory that copies access
// directly.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "api/call.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

constexpr unsigned int kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned int kRegisterFlags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t physical_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
}

/// Pinned pages exist from the start (the mapping is populated), on the calling thread's node.
void* map_populated(std::size_t mapped_bytes) {
  require(mapped_bytes != 0 && mapped_bytes <= physical_bytes(), CUDA_ERROR_OUT_OF_MEMORY);
  void* memory = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  require(memory != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  return memory;
}

/// The pages of the caller's memory that don't exist yet: pinning makes them.
///
/// Throws Refusal(INVALID_VALUE) unless the caller has mapped all of it: otherwise a real driver
/// couldn't pin it.
std::size_t num_absent_pages(std::uintptr_t address, std::size_t size_bytes) {
  const std::uintptr_t first_page = address / page_bytes() * page_bytes();
  const std::size_t num_pages = (address + size_bytes - first_page - 1) / page_bytes() + 1;
  require(num_pages <= physical_bytes() / page_bytes());
  std::vector<unsigned char> residency(num_pages);
  require(mincore(reinterpret_cast<void*>(first_page), address + size_bytes - first_page,
                  residency.data()) == 0);
  return static_cast<std::size_t>(
      std::ranges::count_if(residency, [](unsigned char page) { return (page & 1U) == 0; }));
}

Duration touching(std::size_t num_pages) {
  const double page_ns = machine().profile().memory_costs.first_touch_ns;
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, std::nano>(page_ns * static_cast<double>(num_pages)));
}

/// Throws Refusal(OUT_OF_MEMORY) if no more host memory may be pinned.
void require_pinnable(const Lock& lock, std::size_t size_bytes) {
  (void)lock;
  const std::size_t limit_bytes = machine().profile().pinned_limit_bytes;
  if (limit_bytes == 0) return;
  const AddressMap& addresses = machine().addresses;
  const std::size_t pinned_bytes =
      addresses.total_bytes(RangeKind::pinned) + addresses.total_bytes(RangeKind::registered);
  const bool fits = pinned_bytes <= limit_bytes && size_bytes <= limit_bytes - pinned_bytes;
  require(fits, CUDA_ERROR_OUT_OF_MEMORY);
}

/// Locks the machine, provided that no capture forbids the call.
Lock lock_uncaptured_machine() {
  Lock lock = lock_machine();
  require_no_capture(lock);
  return lock;
}

/// Null for 0 bytes.
void* allocate_pinned(Context& context, std::size_t size_bytes) {
  if (size_bytes == 0) return nullptr;
  const MemoryCall call;
  require_pinnable(lock_uncaptured_machine(), size_bytes);
  Range range{.kind = RangeKind::pinned, .size_bytes = size_bytes, .context = &context};
  range.device = context.ordinal;
  range.mapped_bytes = whole_pages(size_bytes);
  void* host = map_populated(range.mapped_bytes);
  range.base = address_of(host);
  range.id = next_handle();
  Lock lock = lock_machine();
  machine().addresses.add(range);
  lock.unlock();
  call.take(machine().profile().memory_costs.pin, size_bytes);
  return host;
}

void release(RangeKind kind, const void* host, CUresult unknown) {
  const MemoryCosts& costs = machine().profile().memory_costs;
  Lock lock = lock_uncaptured_machine();
  const std::optional<Range> range = machine().addresses.remove(address_of(host), kind);
  if (!range) {
    // An address inside a range, other than its first, is a different error with a real driver
    // (580.159).
    const bool inside = machine().addresses.covering(address_of(host), 1) != nullptr;
    throw Refusal{inside ? CUDA_ERROR_INVALID_VALUE : unknown};
  }
  drain(lock, *range->context);
  lock.unlock();
  const MemoryCall call;
  unmap(*range);
  call.take(kind == RangeKind::pinned ? costs.unpin : costs.withdraw, range->size_bytes);
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuMemHostAlloc(void** host, std::size_t size_bytes, unsigned int flags) {
  return Call("cuMemHostAlloc").note("bytes", size_bytes)([&] {
    Context& context = current_context();
    require(host != nullptr && (flags & ~kAllocFlags) == 0);
    *host = allocate_pinned(context, size_bytes);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAllocHost(void** host, std::size_t size_bytes) {
  return Call("cuMemAllocHost").note("bytes", size_bytes)([&] {
    Context& context = current_context();
    require(host != nullptr);
    *host = allocate_pinned(context, size_bytes);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemFreeHost(void* host) {
  return Call("cuMemFreeHost")([&] {
    current_context();
    if (host == nullptr) return CUDA_SUCCESS;
    release(RangeKind::pinned, host, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemHostRegister(void* host, std::size_t size_bytes, unsigned int flags) {
  return Call("cuMemHostRegister").note("bytes", size_bytes)([&] {
    Context& context = current_context();
    require(host != nullptr && size_bytes > 0 && (flags & ~kRegisterFlags) == 0);
    const MemoryCall call;
    const MemoryCosts& costs = machine().profile().memory_costs;
    const Duration first_touch = touching(num_absent_pages(address_of(host), size_bytes));
    Lock lock = lock_uncaptured_machine();
    require(!machine().addresses.overlaps(address_of(host), size_bytes),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    require_pinnable(lock, size_bytes);
    machine().addresses.add({.kind = RangeKind::registered,
                             .base = address_of(host),
                             .size_bytes = size_bytes,
                             .context = &context,
                             .device = context.ordinal,
                             .id = next_handle()});
    lock.unlock();
    call.take(costs.enroll, size_bytes, first_touch);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemHostUnregister(void* host) {
  return Call("cuMemHostUnregister")([&] {
    current_context();
    require(host != nullptr);
    release(RangeKind::registered, host, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemHostGetDevicePointer(CUdeviceptr* device, void* host, unsigned int flags) {
  return Call("cuMemHostGetDevicePointer")([&] {
    current_context();
    require(device != nullptr && host != nullptr && flags == 0);
    Lock lock = lock_machine();
    require(host_kind(lock, host, 1) == HostKind::pinned);
    *device = address_of(host);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
