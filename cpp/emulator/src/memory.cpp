// cuMemAlloc, cuMemFree, cuMemGetInfo: device memory, which is a file in memory for each
// allocation.
#include "memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call.hpp"
#include "machine.hpp"

namespace isthmus::emulator {
namespace {

constexpr std::size_t kPageBytes = 4096;

/// A memory file that nobody who gets hold of it can truncate under us; -1 if there can't be one.
int make_memory_file(std::size_t size_bytes) {
  const int file = memfd_create("isthmus-device-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return -1;
  if (ftruncate(file, static_cast<off_t>(size_bytes)) != 0) {
    close(file);
    return -1;
  }
  fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  return file;
}

/// Maps lazily: pages appear when they are first touched. Without a file (a process out of file
/// descriptors) the memory works but can't be exported.
void map(Range& range) {
  range.file = make_memory_file(range.mapped_bytes);
  const int flags =
      range.file >= 0 ? MAP_SHARED | MAP_NORESERVE : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* memory = mmap(nullptr, range.mapped_bytes, PROT_READ | PROT_WRITE, flags, range.file, 0);
  if (memory == MAP_FAILED) {
    if (range.file >= 0) close(range.file);
    throw Refusal{CUDA_ERROR_OUT_OF_MEMORY};
  }
  madvise(memory, range.mapped_bytes, MADV_HUGEPAGE);  // fewer faults where the system allows it
  range.base = address_of(memory);
}

Range allocate(Context& context, std::size_t size_bytes) {
  Range range{.kind = RangeKind::device, .size_bytes = size_bytes, .context = &context};
  range.mapped_bytes = whole_pages(size_bytes);
  const std::size_t capacity_bytes = machine().profile().memory_bytes;
  const Lock lock = lock_machine();
  Device& device = device_of(context);
  const bool fits =
      range.mapped_bytes != 0 && range.mapped_bytes <= capacity_bytes - device.used_bytes;
  require(fits, CUDA_ERROR_OUT_OF_MEMORY);
  map(range);
  range.id = next_handle();
  machine().addresses.add(range);
  device.used_bytes += range.mapped_bytes;
  return range;
}

}  // namespace

std::size_t whole_pages(std::size_t size_bytes) {
  return (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void unmap(const Range& range) {
  if (range.kind == RangeKind::registered) return;
  munmap(reinterpret_cast<void*>(range.base), range.mapped_bytes);
  if (range.file >= 0) close(range.file);
}

void require_device_range(Lock& lock, CUdeviceptr address, std::size_t size_bytes) {
  (void)lock;
  require(machine().addresses.covering(address, size_bytes) != nullptr);
}

HostKind host_kind(Lock& lock, const void* host, std::size_t size_bytes) {
  (void)lock;
  const AddressMap& addresses = machine().addresses;
  const Range* range = addresses.covering(address_of(host), size_bytes);
  if (range != nullptr) return range->on_host() ? HostKind::pinned : HostKind::device;
  require(!addresses.overlaps(address_of(host), size_bytes));
  return HostKind::pageable;
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

CUresult CUDAAPI cuMemFree(CUdeviceptr address) {
  return Call("cuMemFree")([&] {
    current_context();
    if (address == 0) return CUDA_SUCCESS;
    Lock lock = lock_machine();
    const std::optional<Range> range = machine().addresses.remove(address, RangeKind::device);
    if (!range) throw Refusal{CUDA_ERROR_INVALID_VALUE};
    drain(lock, *range->context);
    device_of(*range->context).used_bytes -= range->mapped_bytes;
    lock.unlock();
    unmap(*range);
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

CUresult CUDAAPI cuMemGetAddressRange(CUdeviceptr* base, std::size_t* size_bytes,
                                      CUdeviceptr address) {
  return Call("cuMemGetAddressRange")([&] {
    current_context();
    const Lock lock = lock_machine();
    const Range* range = machine().addresses.covering(address, 1);
    require(range != nullptr && range->kind == RangeKind::device, CUDA_ERROR_NOT_FOUND);
    if (base != nullptr) *base = range->base;
    if (size_bytes != nullptr) *size_bytes = range->size_bytes;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
