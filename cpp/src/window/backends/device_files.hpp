// The system calls that backends make on device files and on this process's memory, and the clock
// that times them, as an interface: tests implement it with a fake kernel.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace isthmus::window {

/// Open, ioctl, mmap, close and process_vm_readv. Functions return -errno on failure and may be
/// called from any thread.
class DeviceFiles {
public:
  virtual ~DeviceFiles() = default;
  /// Opens for reading and writing, close-on-exec. Returns a descriptor.
  virtual int open(const char* path) const = 0;
  virtual int control(int descriptor, unsigned long request, void* argument) const = 0;
  /// Maps shared, readable and writable. `where`: null, or pages of the caller to replace. Returns
  /// 0 and the address in `mapped`.
  virtual int map(void* where, std::size_t size_bytes, int descriptor, off_t offset,
                  void** mapped) const = 0;
  virtual void unmap(void* mapped, std::size_t size_bytes) const noexcept = 0;
  virtual void close(int descriptor) const noexcept = 0;
  /// Copies bytes of this process's own memory. Where a load would raise a signal, the kernel
  /// returns an error.
  ///
  /// Returns     the number of bytes copied: fewer than asked for if the memory ends before. -EFAULT
  ///             if it can't be read at all; -EPERM or -ENOSYS if a sandbox refuses the call.
  virtual ssize_t read_memory(std::uintptr_t address, void* target,
                              std::size_t size_bytes) const = 0;
  /// The time since an arbitrary moment.
  virtual std::uint64_t nanoseconds() const noexcept = 0;
};

/// What an errno means: "Permission denied".
std::string error_text(int error);

/// The real system calls.
std::shared_ptr<const DeviceFiles> system_device_files();

}  // namespace isthmus::window
