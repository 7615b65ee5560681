#include "transfer/request/mapped_file_copy.hpp"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/memory/pages.hpp"

namespace isthmus::transfer {
namespace {

using KernelCopy = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                               unsigned long);

/// The kernel's copy between two ranges of this process's own memory, as far as it gets. It touches
/// the first as a program would, and takes the pages of the second one by one. Returns -1 if it
/// isn't allowed here.
ssize_t copy_by_kernel(KernelCopy copy, std::byte* touched, std::byte* taken,
                       std::size_t size_bytes) noexcept {
  std::size_t done = 0;
  while (done < size_bytes) {
    const iovec here{touched + done, size_bytes - done};
    const iovec there{taken + done, size_bytes - done};
    const ssize_t count = copy(getpid(), &here, 1, &there, 1, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EFAULT) return -1;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(done);
}

bool is_there(const std::byte* memory, std::size_t size_bytes, host::Access access) noexcept {
  return host::populate(host::Pages(memory, size_bytes), access) != EFAULT;
}

/// True for device memory that is mapped here: the kernel can't copy it, and it doesn't shrink.
bool is_of_device(const std::byte* memory, host::Access access) noexcept {
  // Memory that may not be touched gives the same error; the list of mappings tells them apart.
  return host::populate(host::Pages(memory, 1), access) == EINVAL &&
         host::can_touch(memory, 1, access);
}

/// True if the CPU has to copy what the kernel didn't.
///
/// copied      bytes that the kernel copied; -1 if it isn't allowed to
bool is_for_the_cpu(ssize_t copied, const std::byte* mapped, std::size_t size_bytes,
                    host::Access access) noexcept {
  if (copied < 0) return is_there(mapped, size_bytes, access);
  return copied == 0 && is_of_device(mapped, access);
}

}  // namespace

// In both, the mapped file is what the kernel touches. Where threads work side by side, it takes
// pages in turns, because the lock of a page table is one for 2 MiB of small pages; of huge pages,
// such as slots have, it takes many at once. It can't take a device's pages; then it takes the file's.

std::size_t copy_from_mapped_file(std::byte* target, const std::byte* source,
                                  std::size_t size_bytes) noexcept {
  auto* const file = const_cast<std::byte*>(source);
  ssize_t copied = copy_by_kernel(process_vm_writev, file, target, size_bytes);
  if (copied == 0) copied = copy_by_kernel(process_vm_readv, target, file, size_bytes);
  if (is_for_the_cpu(copied, source, size_bytes, host::Access::read)) {
    std::memcpy(target, source, size_bytes);
    return size_bytes;
  }
  return copied < 0 ? 0 : static_cast<std::size_t>(copied);
}

std::size_t copy_to_mapped_file(std::byte* target, const std::byte* source,
                                std::size_t size_bytes) noexcept {
  auto* const memory = const_cast<std::byte*>(source);
  ssize_t copied = copy_by_kernel(process_vm_readv, target, memory, size_bytes);
  if (copied == 0) copied = copy_by_kernel(process_vm_writev, memory, target, size_bytes);
  if (is_for_the_cpu(copied, target, size_bytes, host::Access::write)) {
    std::memcpy(target, source, size_bytes);
    return size_bytes;
  }
  return copied < 0 ? 0 : static_cast<std::size_t>(copied);
}

void read_ahead(const std::byte* memory, std::size_t size_bytes) noexcept {
  const host::Pages pages(memory, size_bytes);
  madvise(pages.data(), pages.size_bytes(), MADV_WILLNEED);
}

}  // namespace isthmus::transfer
