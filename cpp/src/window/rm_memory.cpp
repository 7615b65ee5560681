#include "window/rm_memory.hpp"

#include <unistd.h>

#include <bit>

#include <isthmus/errors.hpp>

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

// Holds the handle behind an address while it is examined.
class RetainedHandle {
public:
  RetainedHandle(const Driver& driver, const Allocation& allocation) : driver_(driver) {
    const CUresult result = driver.raw(symbol::mem_retain_allocation_handle)(
        &handle_, reinterpret_cast<void*>(allocation.base));
    if (result != CUDA_SUCCESS)
      refuse("the memory is neither cudaMalloc's nor cuMemCreate's (cuMemRetainAllocationHandle: " +
                 driver.name_of(result) + "); pools of cudaMallocAsync have no handle",
             "memory from cudaMalloc, or from cuMemCreate with an exportable handle type");
  }
  ~RetainedHandle() { driver_.raw(symbol::mem_release)(handle_); }
  RetainedHandle(const RetainedHandle&) = delete;
  RetainedHandle& operator=(const RetainedHandle&) = delete;

  CUmemGenericAllocationHandle handle() const noexcept { return handle_; }

private:
  Driver driver_;
  CUmemGenericAllocationHandle handle_ = 0;
};

void require_symbols(const Driver& driver) {
  if (!driver.has(symbol::mem_retain_allocation_handle) || !driver.has(symbol::mem_release) ||
      !driver.has(symbol::mem_export_to_shareable_handle) ||
      !driver.has(symbol::mem_get_allocation_properties))
    refuse("the driver lacks cuMemRetainAllocationHandle or its companions",
           "a driver for CUDA 12.2 or later");
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

int exported_descriptor(const Driver& driver, const Allocation& allocation) {
  require_symbols(driver);
  const RetainedHandle retained(driver, allocation);
  CUmemAllocationProp properties{};
  driver.call(symbol::mem_get_allocation_properties)(&properties, retained.handle());
  if (properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    throw UsageError(
        "a window can't be opened on memory of cuMemCreate that lies on the host; the CPU can use "
        "it once cuMemSetAccess allows the host");
  int descriptor = -1;
  const CUresult result = driver.raw(symbol::mem_export_to_shareable_handle)(
      &descriptor, retained.handle(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (result != CUDA_SUCCESS)
    refuse("memory of cuMemCreate that can't be exported (cuMemExportToShareableHandle: " +
               driver.name_of(result) + ")",
           "memory created with requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR");
  return descriptor;
}

}  // namespace isthmus::window::rm
