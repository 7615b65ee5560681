#include "memory/virtual_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "api/call.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

template <typename Words>
auto& word_at(Words& words, std::size_t offset_bytes) {
  return words[offset_bytes / sizeof(typename Words::value_type)];
}

}  // namespace

AllocationRecord::AllocationRecord(std::uint32_t number, std::uintptr_t neighbour) {
  word_at(memory_, 0x38) = number;
  word_at(mapping_, 0x58) = number;
  word_at(words_, 0x60) = structure();
  word_at(words_, 0xe8) = reinterpret_cast<std::uintptr_t>(mapping_.data());
  word_at(words_, 0x18) = neighbour;
}

namespace {

constexpr std::size_t kMaxReleasedRecords = 1024;

}  // namespace

CUmemGenericAllocationHandle VirtualMemory::add(MemoryObjectPtr object) {
  auto record = std::make_unique<AllocationRecord>(object->number, last_structure_);
  last_structure_ = record->structure();
  const CUmemGenericAllocationHandle handle = record->handle();
  handles_.emplace(handle, Handle{std::move(object), std::move(record)});
  return handle;
}

CUmemGenericAllocationHandle VirtualMemory::retain(const MemoryObjectPtr& object) {
  for (auto& [handle, each] : handles_) {
    if (each.object != object) continue;
    ++each.num_references;
    return handle;
  }
  return add(object);
}

MemoryObjectPtr VirtualMemory::release(CUmemGenericAllocationHandle handle) {
  MemoryObjectPtr object = find(handle);
  Handle& released = handles_.at(handle);
  if (--released.num_references > 0) return object;
  released_.push_back(std::move(released.record));
  if (released_.size() > kMaxReleasedRecords) released_.pop_front();
  handles_.erase(handle);
  return object;
}

MemoryObjectPtr VirtualMemory::find(CUmemGenericAllocationHandle handle) const {
  const auto found = handles_.find(handle);
  require(found != handles_.end());
  return found->second.object;
}

namespace {

/// The size of memory is a multiple of this, for any requested granularity: a choice, the size of a
/// GPU's large pages.
constexpr std::size_t kGranularityBytes = std::size_t{2} * 1024 * 1024;

bool whole_granules(std::size_t size_bytes) {
  return size_bytes > 0 && size_bytes % kGranularityBytes == 0;
}

/// The device for memory with these properties.
Device& checked_device(const CUmemAllocationProp* properties) {
  require(properties != nullptr && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED);
  require(properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE);
  const auto known =
      unsigned{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR} | unsigned{CU_MEM_HANDLE_TYPE_FABRIC};
  require((static_cast<unsigned>(properties->requestedHandleTypes) & ~known) == 0);
  return device_at(properties->location.id);
}

bool inside_reservation(const VirtualMemory& memory, std::uintptr_t base, std::size_t size_bytes) {
  auto after = memory.reservations.upper_bound(base);
  if (after == memory.reservations.begin()) return false;
  const auto& [reserved_base, reserved_bytes] = *--after;
  const std::size_t offset = base - reserved_base;
  return offset < reserved_bytes && size_bytes <= reserved_bytes - offset;
}

/// The mappings that exactly fill [base, base + size_bytes), without a gap.
///
/// Throws Refusal(INVALID_VALUE) if they don't.
std::vector<Range*> whole_mappings(Lock& lock, std::uintptr_t base, std::size_t size_bytes) {
  (void)lock;
  require(whole_granules(size_bytes));
  std::vector<Range*> mappings;
  for (std::size_t done_bytes = 0; done_bytes < size_bytes;) {
    Range* range = machine().addresses.find(base + done_bytes);
    require(range != nullptr && range->kind == RangeKind::mapped);
    require(range->base == base + done_bytes && range->size_bytes <= size_bytes - done_bytes);
    mappings.push_back(range);
    done_bytes += range->size_bytes;
  }
  return mappings;
}

int protection_of(CUmemAccess_flags access) {
  switch (access) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
      return PROT_NONE;
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
      return PROT_READ;
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE:
      return PROT_READ | PROT_WRITE;
    default:
      throw Refusal{CUDA_ERROR_INVALID_VALUE};
  }
}

void drain_device(Lock& lock, const MemoryObject& object) {
  Context& context = object.device().context;
  if (context.num_retained > 0) drain(lock, context);
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuMemGetAllocationGranularity(std::size_t* size_bytes,
                                               const CUmemAllocationProp* properties,
                                               CUmemAllocationGranularity_flags option) {
  return Call("cuMemGetAllocationGranularity")([&] {
    checked_device(properties);
    require(size_bytes != nullptr && (option == CU_MEM_ALLOC_GRANULARITY_MINIMUM ||
                                      option == CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    *size_bytes = kGranularityBytes;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t size_bytes,
                             const CUmemAllocationProp* properties, unsigned long long flags) {
  return Call("cuMemCreate").note("bytes", size_bytes)([&] {
    Device& device = checked_device(properties);
    require(handle != nullptr && whole_granules(size_bytes) && flags == 0);
    const Lock lock = lock_machine();
    const MemoryObjectPtr object = machine().objects.make(device, size_bytes);
    object->properties = *properties;
    *handle = machine().virtual_memory.add(object);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
  return Call("cuMemRelease")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    Lock lock = lock_machine();
    const MemoryObjectPtr object = machine().virtual_memory.release(handle);
    lock.unlock();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* address, std::size_t size_bytes,
                                     std::size_t alignment_bytes, CUdeviceptr wanted,
                                     unsigned long long flags) {
  return Call("cuMemAddressReserve").note("bytes", size_bytes)([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    require(address != nullptr && whole_granules(size_bytes) && flags == 0);
    require((alignment_bytes & (alignment_bytes - 1)) == 0);
    const std::size_t min_bytes = std::max(alignment_bytes, kGranularityBytes);
    const Lock lock = lock_machine();
    *address = address_space().reserve(size_bytes, min_bytes, wanted);
    machine().virtual_memory.reservations.emplace(*address, size_bytes);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, std::size_t size_bytes) {
  return Call("cuMemAddressFree")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    const Lock lock = lock_machine();
    auto& reservations = machine().virtual_memory.reservations;
    const auto found = reservations.find(address);
    require(found != reservations.end() && found->second == size_bytes);
    require(!machine().addresses.overlaps(address, size_bytes));
    reservations.erase(found);
    address_space().release(address, size_bytes);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemMap(CUdeviceptr address, std::size_t size_bytes, std::size_t offset_bytes,
                          CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return Call("cuMemMap").note("bytes", size_bytes)([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    require(whole_granules(size_bytes) && address % kGranularityBytes == 0);
    require(offset_bytes == 0 && flags == 0);
    const Lock lock = lock_machine();
    MemoryObjectPtr object = machine().virtual_memory.find(handle);
    require(size_bytes <= object->size_bytes());
    require(inside_reservation(machine().virtual_memory, address, size_bytes));
    require(!machine().addresses.overlaps(address, size_bytes));
    object->map_at(address, size_bytes);
    const int ordinal = object->device().context.ordinal;
    machine().addresses.add({.kind = RangeKind::mapped,
                             .base = address,
                             .size_bytes = size_bytes,
                             .object = std::move(object),
                             .device = ordinal,
                             .id = next_handle(),
                             .accessible = false});
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, std::size_t size_bytes,
                                const CUmemAccessDesc* descriptions, std::size_t count) {
  return Call("cuMemSetAccess")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    require(descriptions != nullptr && count > 0);
    Lock lock = lock_machine();
    for (Range* range : whole_mappings(lock, address, size_bytes)) {
      for (std::size_t index = 0; index < count; ++index) {
        const CUmemAccessDesc& description = descriptions[index];
        require(description.location.type == CU_MEM_LOCATION_TYPE_DEVICE);
        if (description.location.id != range->device) continue;
        const int protection = protection_of(description.flags);
        mprotect(to_pointer(range->base), range->size_bytes, protection);
        range->accessible = protection != PROT_NONE;
      }
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, std::size_t size_bytes) {
  return Call("cuMemUnmap")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    std::vector<Range> removed;  // objects are destroyed after the unlock
    Lock lock = lock_machine();
    for (const Range* range : whole_mappings(lock, address, size_bytes)) {
      removed.push_back(*machine().addresses.remove(range->base, RangeKind::mapped));
    }
    for (const Range& range : removed) {
      drain_device(lock, *range.object);
      require(clear_mapping(range.base, range.size_bytes), CUDA_ERROR_OUT_OF_MEMORY);
    }
    lock.unlock();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return Call("cuMemRetainAllocationHandle")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    require(handle != nullptr);
    const Lock lock = lock_machine();
    const Range* range = machine().addresses.covering(address_of(address), 1);
    require(range != nullptr && range->kind == RangeKind::mapped);
    *handle = machine().virtual_memory.retain(range->object);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                        CUmemGenericAllocationHandle handle) {
  return Call("cuMemGetAllocationPropertiesFromHandle")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    require(properties != nullptr);
    const Lock lock = lock_machine();
    *properties = machine().virtual_memory.find(handle)->properties.value();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                              CUmemAllocationHandleType type,
                                              unsigned long long flags) {
  return Call("cuMemExportToShareableHandle")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    require(shareable != nullptr && flags == 0);
    require(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    const Lock lock = lock_machine();
    const MemoryObjectPtr object = machine().virtual_memory.find(handle);
    require((object->properties->requestedHandleTypes & type) != 0);
    const int file = object->open_file(0);
    std::memcpy(shareable, &file, sizeof file);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
