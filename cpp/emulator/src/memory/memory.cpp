// cuMemAlloc, cuMemAllocManaged, cuMemFree, cuMemGetInfo: device memory.
#include "memory/memory.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "api/call.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

constexpr std::size_t kPageBytes = 4096;

/// Like driver 580.159.04, as seen in handles of cuIpcGetMemHandle: allocations up to 1 MiB share
/// objects of 2 MiB, at multiples of 512 bytes.
constexpr std::size_t kSharedObjectBytes = std::size_t{2} * 1024 * 1024;
constexpr std::size_t kMaxSharedBytes = std::size_t{1} * 1024 * 1024;
constexpr std::size_t kBlockBytes = 512;

MemoryObjectPtr make_mapped_object(Device& device, std::size_t size_bytes) {
  MemoryObjectPtr object = machine().objects.make(device, size_bytes);
  object->reserve_and_map(kSharedObjectBytes);
  return object;
}

/// Part of an object that other allocations share, or of a new one.
Range allocate_block(Device& device, std::size_t size_bytes) {
  Range range{.size_bytes = size_bytes};
  const std::size_t block_bytes = rounded_up(size_bytes, kBlockBytes);
  const auto take = [&](const MemoryObjectPtr& object) {
    const auto offset = object->blocks.take(block_bytes, kBlockBytes);
    if (!offset) return false;
    range.object = object;
    range.object_offset_bytes = *offset;
    return true;
  };
  std::erase_if(device.shared_objects, [](const auto& object) { return object.expired(); });
  for (const auto& object : device.shared_objects) {
    const MemoryObjectPtr alive = object.lock();
    if (alive != nullptr && take(alive)) return range;
  }
  const MemoryObjectPtr object = make_mapped_object(device, kSharedObjectBytes);
  object->is_shared = true;
  object->blocks.add(0, kSharedObjectBytes);
  device.shared_objects.push_back(object);
  take(object);
  return range;
}

Range allocate(Context& context, std::size_t size_bytes) {
  const MemoryCall call;
  Lock lock = lock_machine();
  require_no_capture(lock);
  Range range = allocate_on_device(lock, context, size_bytes);
  lock.unlock();
  const MemoryCosts& costs = machine().profile().memory_costs;
  call.take(range.object->is_shared ? costs.device_block : costs.device_allocation, size_bytes);
  return range;
}

const MemoryCost& cost_of_freeing(const Range& range) {
  const MemoryCosts& costs = machine().profile().memory_costs;
  const bool is_block = range.object == nullptr || range.object->is_shared;
  return is_block ? costs.device_block : costs.device_free;
}

/// Host memory that is known as managed. A shared mapping, like a real driver's, unlike the
/// process's ordinary memory.
Range allocate_managed(Context& context, std::size_t size_bytes) {
  Range range{.kind = RangeKind::managed, .size_bytes = size_bytes};
  range.mapped_bytes = whole_pages(size_bytes);
  require(range.mapped_bytes != 0, CUDA_ERROR_OUT_OF_MEMORY);
  void* memory = mmap(nullptr, range.mapped_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(memory != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  range.base = address_of(memory);
  range.context = &context;
  range.device = context.ordinal;
  range.id = next_handle();
  const Lock lock = lock_machine();
  machine().addresses.add(range);
  return range;
}

std::optional<Range> remove_allocation(Lock& lock, CUdeviceptr address) {
  (void)lock;
  AddressMap& addresses = machine().addresses;
  const std::optional<Range> range = addresses.remove(address, RangeKind::device);
  return range ? range : addresses.remove(address, RangeKind::managed);
}

}  // namespace

Range allocate_on_device(Lock& lock, Context& context, std::size_t size_bytes) {
  (void)lock;
  Device& device = device_of(context);
  Range range{.size_bytes = size_bytes};
  if (size_bytes <= kMaxSharedBytes) {
    range = allocate_block(device, size_bytes);
  } else {
    range.object = make_mapped_object(device, rounded_up(size_bytes, kDevicePageBytes));
  }
  range.base = range.object->base() + range.object_offset_bytes;
  range.context = &context;
  range.device = context.ordinal;
  range.id = next_handle();
  machine().addresses.add(range);
  return range;
}

std::size_t whole_pages(std::size_t size_bytes) { return rounded_up(size_bytes, kPageBytes); }

void unmap(const Range& range) {
  if (range.kind != RangeKind::pinned && range.kind != RangeKind::managed) return;
  munmap(reinterpret_cast<void*>(range.base), range.mapped_bytes);
}

void give_back_block(Lock& lock, const Range& range) {
  (void)lock;
  if (range.object == nullptr || !range.object->is_shared) return;
  range.object->blocks.add(range.object_offset_bytes, rounded_up(range.size_bytes, kBlockBytes));
}

void require_device_range(Lock& lock, CUdeviceptr address, std::size_t size_bytes) {
  (void)lock;
  const AddressMap& addresses = machine().addresses;
  while (true) {
    const Range* range = addresses.covering(address, 1);
    require(range != nullptr && range->accessible);
    const std::size_t here_bytes = range->base + range->size_bytes - address;
    if (size_bytes <= here_bytes) return;
    require(range->kind == RangeKind::mapped);  // only mappings can adjoin
    address += here_bytes;
    size_bytes -= here_bytes;
  }
}

bool is_synchronous(Lock& lock, CUdeviceptr address) {
  (void)lock;
  const Range* range = machine().addresses.covering(address, 1);
  return range != nullptr && range->synchronous;
}

HostKind host_kind(Lock& lock, const void* host, std::size_t size_bytes) {
  const AddressMap& addresses = machine().addresses;
  const Range* range = addresses.covering(address_of(host), 1);
  if (range == nullptr) {
    require(!addresses.overlaps(address_of(host), size_bytes));
    return HostKind::pageable;
  }
  require_device_range(lock, address_of(host), size_bytes);
  const bool on_device = range->kind == RangeKind::device || range->kind == RangeKind::mapped;
  return on_device ? HostKind::device : HostKind::pinned;
}

void MemoryCall::take(const MemoryCost& cost, std::size_t size_bytes, Duration more) const {
  const std::chrono::duration<double, std::nano> pages(
      cost.page_ns * static_cast<double>(whole_pages(size_bytes)) /
      static_cast<double>(kPageBytes));
  const Duration modelled = cost.call + std::chrono::duration_cast<Duration>(pages) + more;
  count_modelled(modelled);
  wait_until(begin_ + modelled);
}

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuMemAlloc(CUdeviceptr* address, std::size_t size_bytes) {
  return Call("cuMemAlloc").note("bytes", size_bytes)([&] {
    Context& context = current_context();
    require(address != nullptr && size_bytes > 0);
    *address = allocate(context, size_bytes).base;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr* address, std::size_t size_bytes,
                                   unsigned int flags) {
  return Call("cuMemAllocManaged").note("bytes", size_bytes)([&] {
    Context& context = current_context();
    require(address != nullptr && size_bytes > 0);
    require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
    *address = allocate_managed(context, size_bytes).base;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
  return Call("cuMemFree")([&] {
    current_context();
    if (address == 0) return CUDA_SUCCESS;
    Lock lock = lock_machine();
    require_no_capture(lock);
    const std::optional<Range> range = remove_allocation(lock, address);
    if (!range) throw Refusal{CUDA_ERROR_INVALID_VALUE};
    drain(lock, *range->context);
    const MemoryCall call;
    give_back_block(lock, *range);
    lock.unlock();
    unmap(*range);
    call.take(cost_of_freeing(*range), range->size_bytes);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return Call("cuMemGetInfo")([&] {
    const Context& context = current_context();
    require(free_bytes != nullptr && total_bytes != nullptr);
    const Lock lock = lock_machine();
    *total_bytes = machine().profile().memory_bytes;
    *free_bytes = *total_bytes - device_of(context).used_bytes;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
