// Exports device memory: cuMemGetHandleForAddressRange and cuIpcGetMemHandle.
#include <unistd.h>

#include <cstring>

#include "api/call.hpp"
#include "machine/machine.hpp"
#include "memory/memory.hpp"

namespace isthmus::emulator {
namespace {

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
