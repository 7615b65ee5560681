#include "memory/memory_object.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

constexpr int kFileFlags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
constexpr int kNoFileFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;

/// A memory file that no other holder can truncate; -1 if it can't be created.
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

void charge(Device& device, std::size_t size_bytes) {
  const std::size_t capacity_bytes = machine().profile().memory_bytes;
  std::size_t used_bytes = device.used_bytes;
  do {
    const bool fits = used_bytes <= capacity_bytes && size_bytes <= capacity_bytes - used_bytes;
    require(fits && size_bytes != 0, CUDA_ERROR_OUT_OF_MEMORY);
  } while (!device.used_bytes.compare_exchange_weak(used_bytes, used_bytes + size_bytes));
}

}  // namespace

MemoryObject::MemoryObject(Device& device, std::size_t size_bytes)
    : device_(device), size_bytes_(size_bytes) {
  charge(device, size_bytes);
  file_ = make_memory_file(size_bytes);
}

MemoryObject::~MemoryObject() {
  addresses_.reset();
  if (file_ >= 0) close(file_);
  device_.used_bytes -= size_bytes_;
}

void MemoryObject::reserve_and_map(std::size_t alignment_bytes) {
  addresses_.emplace(size_bytes_, alignment_bytes);
  map_at(base(), size_bytes_);
  mprotect(reinterpret_cast<void*>(base()), size_bytes_, PROT_READ | PROT_WRITE);
}

void MemoryObject::map_at(std::uintptr_t base, std::size_t size_bytes) const {
  auto* where = reinterpret_cast<void*>(base);
  const void* memory =
      mmap(where, size_bytes, PROT_NONE, file_ >= 0 ? kFileFlags : kNoFileFlags, file_, 0);
  require(memory != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  madvise(where, size_bytes, MADV_HUGEPAGE);  // fewer faults if the system allows it
  madvise(where, size_bytes, MADV_DONTFORK);  // a GPU's memory isn't in a child's
}

int MemoryObject::open_file(std::size_t offset_bytes) const {
  require(file_ >= 0, CUDA_ERROR_NOT_SUPPORTED);
  // Opened again instead of duplicated: duplicates share one position.
  const std::string path = "/proc/self/fd/" + std::to_string(file_);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  require(file >= 0, CUDA_ERROR_OPERATING_SYSTEM);
  lseek(file, static_cast<off_t>(offset_bytes), SEEK_SET);
  return file;
}

}  // namespace isthmus::emulator
