// Properties of pointers: cuPointerGetAttribute(s), cuPointerSetAttribute, cuMemGetAddressRange;
// and exports: cuMemGetHandleForAddressRange, cuIpcGetMemHandle.
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>

#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

/// The value of an attribute, with its size.
class Answer {
public:
  template <typename Value>
  explicit Answer(Value value) : size_bytes_(sizeof(Value)) {
    static_assert(sizeof(Value) <= sizeof bytes_);
    std::memcpy(bytes_.data(), static_cast<const void*>(&value), sizeof(Value));
  }
  void copy_to(void* data) const { std::memcpy(data, bytes_.data(), size_bytes_); }
  void clear(void* data) const { std::memset(data, 0, size_bytes_); }

private:
  std::array<std::byte, sizeof(std::uint64_t)> bytes_{};
  std::size_t size_bytes_;
};

std::uint64_t exportable_as(const Range& range) {
  if (range.object == nullptr) return CU_MEM_HANDLE_TYPE_NONE;
  return range.object->properties.value_or(CUmemAllocationProp{}).requestedHandleTypes;
}

/// Nothing for attributes that this memory has no value for.
///
/// Throws Refusal(INVALID_VALUE) for unknown attributes.
std::optional<Answer> describe(const Range& range, CUdeviceptr address,
                               CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return Answer(reinterpret_cast<std::uintptr_t>(
          range.context != nullptr && !range.from_pool ? range.context->handle() : nullptr));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:  // managed memory has no type of its own
      return Answer(unsigned{range.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE});
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return Answer(address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!range.on_host() && range.kind != RangeKind::managed) return std::nullopt;
      return Answer(address);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      return Answer(range.id);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return Answer(unsigned{range.synchronous});
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return Answer(unsigned{range.kind == RangeKind::managed});
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return Answer(range.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return Answer(unsigned{range.kind == RangeKind::device && !range.from_pool});
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return Answer(range.from_pool ? pool_of(device_of(*range.context)) : CUmemoryPool{});
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return Answer(range.base);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return Answer(range.size_bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return Answer(1u);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return Answer(exportable_as(range));
    default:
      throw Refusal{CUDA_ERROR_INVALID_VALUE};
  }
}

/// All attributes are zero for memory that the driver doesn't know.
void describe_all(const Range* range, CUdeviceptr address,
                  std::span<const CUpointer_attribute> attributes, void** values) {
  const Range unknown;
  for (std::size_t index = 0; index < attributes.size(); ++index) {
    require(values[index] != nullptr);
    const auto value = describe(range != nullptr ? *range : unknown, address, attributes[index]);
    if (range != nullptr && value) {
      value->copy_to(values[index]);
    } else {
      value.value_or(Answer(std::uint64_t{0})).clear(values[index]);
    }
  }
}

/// Pages of 4 KiB to export.
struct Pages {
  std::uintptr_t begin;
  std::size_t size_bytes;

  std::uintptr_t end() const { return begin + size_bytes; }
};

/// Throws Refusal(INVALID_VALUE) unless each GPU page contains part of an allocation: pages shared
/// by allocations may be exported, free pages may not.
void require_shared_pages(Lock& lock, const Pages& pages, const MemoryObject& object) {
  (void)lock;
  std::uintptr_t page = rounded_down(pages.begin, kDevicePageBytes);
  for (; page < pages.end(); page += kDevicePageBytes) {
    const Range* range = machine().addresses.first_in(page, kDevicePageBytes);
    require(range != nullptr && range->object.get() == &object);
  }
}

int open_pages(Lock& lock, const Pages& pages) {
  const std::uintptr_t first_page = rounded_down(pages.begin, kDevicePageBytes);
  const Range* range = machine().addresses.first_in(first_page, kDevicePageBytes);
  require(range != nullptr && range->object != nullptr);
  if (range->object->is_shared) {
    require_shared_pages(lock, pages, *range->object);
  } else {
    const std::uintptr_t end = rounded_up(range->base + range->size_bytes, kDevicePageBytes);
    require(pages.begin >= range->base && pages.end() <= end);
  }
  return range->object->open_file(pages.begin - (range->base - range->object_offset_bytes));
}

/// The meaning of a handle's words, as seen with driver 580.159.04. All other words are zero.
struct IpcHandleWords {
  std::uint32_t unknown_0[2];
  std::uint32_t process;
  std::uint32_t unknown_3;
  std::uint64_t allocation_bytes;
  std::uint32_t object_pages;  ///< of 4 KiB
  std::uint32_t offset_bytes;  ///< of the allocation in the object
  std::uint32_t unknown_8[4];
  std::uint32_t client;
  std::uint32_t object;
  std::uint32_t unknown_14[2];
};
static_assert(sizeof(IpcHandleWords) == sizeof(CUipcMemHandle));

constexpr std::uint32_t kFirstClient = 0xc1d00000;

IpcHandleWords describe(const Range& range) {
  const auto process = static_cast<std::uint32_t>(getpid());
  return {.unknown_0 = {},
          .process = process,
          .unknown_3 = 0,
          .allocation_bytes = range.size_bytes,
          .object_pages = static_cast<std::uint32_t>(range.object->size_bytes() / 4096),
          .offset_bytes = static_cast<std::uint32_t>(range.object_offset_bytes),
          .unknown_8 = {},
          .client = kFirstClient | (process & 0xffffU),
          .object = range.object->number,
          .unknown_14 = {}};
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuPointerGetAttribute(void* data, CUpointer_attribute attribute,
                                       CUdeviceptr address) {
  return Call("cuPointerGetAttribute")([&] {
    current_context();
    require(data != nullptr);
    const Lock lock = lock_machine();
    const Range* range = machine().addresses.covering(address, 1);
    require(range != nullptr);
    const std::optional<Answer> value = describe(*range, address, attribute);
    require(value.has_value());
    value->copy_to(data);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuPointerGetAttributes(unsigned int num_attributes,
                                        CUpointer_attribute* attributes, void** values,
                                        CUdeviceptr address) {
  return Call("cuPointerGetAttributes")([&] {
    current_context();
    require(num_attributes > 0 && attributes != nullptr && values != nullptr);
    const Lock lock = lock_machine();
    describe_all(machine().addresses.covering(address, 1), address, {attributes, num_attributes},
                 values);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuPointerSetAttribute(const void* value, CUpointer_attribute attribute,
                                       CUdeviceptr address) {
  return Call("cuPointerSetAttribute")([&] {
    current_context();
    require(value != nullptr && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
    const Lock lock = lock_machine();
    Range* range = machine().addresses.find(address);
    require(range != nullptr);
    require(range->kind != RangeKind::mapped, CUDA_ERROR_NOT_SUPPORTED);
    range->synchronous = *static_cast<const int*>(value) != 0;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr* base, std::size_t* size_bytes,
                                      CUdeviceptr address) {
  return Call("cuMemGetAddressRange")([&] {
    const Context& context = current_context();
    const Lock lock = lock_machine();
    const Range* range = machine().addresses.covering(address, 1);
    require(range != nullptr && !range->on_host(), CUDA_ERROR_NOT_FOUND);
    // Seen with driver 580 on two GPUs: another device's memory isn't found here.
    require(&device_at(range->device) == &device_of(context), CUDA_ERROR_NOT_FOUND);
    if (base != nullptr) *base = range->base;
    if (size_bytes != nullptr) *size_bytes = range->size_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address,
                                               std::size_t size_bytes, CUmemRangeHandleType type,
                                               unsigned long long flags) {
  return Call("cuMemGetHandleForAddressRange").note("bytes", size_bytes)([&] {
    current_context();
    require(handle != nullptr && type == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
    require(size_bytes > 0 && whole_pages(size_bytes) == size_bytes);
    require(whole_pages(address) == address && address + size_bytes > address);
    require((flags & ~1ull) == 0);  // 1: through BAR1, which is how this memory is "mapped" anyway
    Lock lock = lock_machine();
    const int file = open_pages(lock, {address, size_bytes});
    std::memcpy(handle, &file, sizeof file);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return Call("cuIpcGetMemHandle")([&] {
    current_context();
    require(handle != nullptr);
    const Lock lock = lock_machine();
    const Range* range = machine().addresses.covering(address, 1);
    require(range != nullptr && range->kind == RangeKind::device && !range->from_pool);
    const IpcHandleWords words = describe(*range);
    std::memcpy(handle, &words, sizeof words);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
