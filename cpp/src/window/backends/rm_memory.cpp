#include "window/backends/rm_memory.hpp"

#include <unistd.h>

#include <bit>

#include <isthmus/errors.hpp>

#include "driver/forks.hpp"

namespace isthmus::window::rm {
namespace {

// Handles of CUDA's client and of its memory, as seen on driver 580.159.04.
// Source: docs/adr/0006-private-resource-manager-interface.md.
constexpr std::uint32_t kClientPrefix = 0xc1d0;
constexpr std::uint32_t kObjectPrefix = 0x5c00;
constexpr std::uint64_t kObjectUnitBytes = 4096;

[[noreturn]] void refuse(const std::string& why, const std::string& needs) {
  throw Unavailable("rm windows", why, needs);
}

constexpr const char* kExportable =
    "memory created with requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR";

void require_symbols(const Driver& driver) {
  if (!driver.has(symbol::mem_retain_allocation_handle) || !driver.has(symbol::mem_release) ||
      !driver.has(symbol::mem_export_to_shareable_handle) ||
      !driver.has(symbol::mem_get_allocation_properties))
    refuse("the driver lacks cuMemRetainAllocationHandle or its companions",
           "a driver for CUDA 12.2 or later");
}

// Memory of a pool belongs to it: the attribute is null for all other memory.
bool is_from_pool(const Driver& driver, const Allocation& allocation) {
  CUmemoryPool pool = nullptr;
  return driver.raw(symbol::pointer_get_attribute)(static_cast<void*>(&pool),
                                                   CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
                                                   CUdeviceptr{allocation.base}) == CUDA_SUCCESS &&
         pool != nullptr;
}

bool is_exportable_as(const CUmemAllocationProp& properties, unsigned handle_type) {
  return (static_cast<unsigned>(properties.requestedHandleTypes) & handle_type) != 0;
}

}  // namespace

std::optional<MemoryObject> object_in_ipc_handle(
    const std::array<std::uint32_t, kIpcHandleWords>& words, std::size_t allocation_bytes,
    std::uint32_t process_id) noexcept {
  const std::uint64_t size_bytes = words[4] | std::uint64_t{words[5]} << 32U;
  const MemoryObject found{words[12], words[13], words[7], words[6] * kObjectUnitBytes};
  const bool fits = words[2] == process_id && size_bytes == allocation_bytes &&
                    found.offset_bytes + size_bytes <= found.size_bytes &&
                    found.client >> 16U == kClientPrefix && found.object >> 16U == kObjectPrefix;
  return fits ? std::optional(found) : std::nullopt;
}

std::optional<MemoryObject> object_behind(const Driver& driver, const Allocation& allocation) {
  if (!driver.has(symbol::ipc_get_mem_handle)) return std::nullopt;
  CUipcMemHandle handle{};
  if (driver.raw(symbol::ipc_get_mem_handle)(&handle, CUdeviceptr{allocation.base}) != CUDA_SUCCESS)
    return std::nullopt;
  const auto words = std::bit_cast<std::array<std::uint32_t, kIpcHandleWords>>(handle);
  const auto found =
      object_in_ipc_handle(words, allocation.size_bytes, static_cast<std::uint32_t>(getpid()));
  if (!found)
    refuse("cuIpcGetMemHandle's bytes are not laid out as on the tested drivers",
           "a driver that this version of Isthmus knows, or CUDA 13.3 for dmabuf windows");
  return found;
}

CreatedObject::CreatedObject(const Driver& driver, const Allocation& allocation)
    : driver_(driver), process_(process_generation()) {
  require_symbols(driver);
  retain(allocation);
  try {
    examine();
  } catch (...) {
    driver_.raw(symbol::mem_release)(handle_);
    throw;
  }
}

CreatedObject::~CreatedObject() {
  if (process_ == process_generation()) driver_.raw(symbol::mem_release)(handle_);
}

void CreatedObject::retain(const Allocation& allocation) {
  const CUresult result = driver_.raw(symbol::mem_retain_allocation_handle)(
      &handle_, reinterpret_cast<void*>(allocation.base));
  if (result == CUDA_SUCCESS) return;
  const std::string answer = " (cuMemRetainAllocationHandle: " + driver_.name_of(result) + ")";
  if (is_from_pool(driver_, allocation))
    refuse("memory of cudaMallocAsync or of another pool, whose handle the driver doesn't give" +
               answer,
           "memory from cudaMalloc or cuMemCreate");
  refuse(
      "the memory is neither from cudaMalloc nor from cuMemCreate in this process; memory "
      "of another process has no windows" +
          answer,
      "memory from cudaMalloc or cuMemCreate");
}

void CreatedObject::examine() {
  const CUresult result = driver_.raw(symbol::mem_get_allocation_properties)(&properties_, handle_);
  if (result != CUDA_SUCCESS)
    refuse(
        "the driver says nothing about memory mapped by cuMemMap, as for a multicast object "
        "(cuMemGetAllocationPropertiesFromHandle: " +
            driver_.name_of(result) + ")",
        "memory of one GPU from cudaMalloc or cuMemCreate");
  if (properties_.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    throw UsageError(
        "a window can't be opened on memory of cuMemCreate that lies on the host; the CPU can use "
        "it once cuMemSetAccess allows the host");
  if ((properties_.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL) != 0)
    refuse("memory for the tiles of sparse arrays (CU_MEM_CREATE_USAGE_TILE_POOL)",
           "memory created without that flag");
  if (is_exportable_as(properties_, CU_MEM_HANDLE_TYPE_FABRIC) && !exportable())
    refuse("fabric memory (CU_MEM_HANDLE_TYPE_FABRIC)", kExportable);
}

bool CreatedObject::exportable() const noexcept {
  return is_exportable_as(properties_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

int CreatedObject::descriptor() const {
  int descriptor = -1;
  const CUresult result = driver_.raw(symbol::mem_export_to_shareable_handle)(
      &descriptor, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (result != CUDA_SUCCESS)
    refuse("memory of cuMemCreate that can't be exported (cuMemExportToShareableHandle: " +
               driver_.name_of(result) + ")",
           kExportable);
  return descriptor;
}

void refuse_handleless(const std::string& why) {
  refuse("memory of cuMemCreate without an exportable handle: " + why, kExportable);
}

}  // namespace isthmus::window::rm
