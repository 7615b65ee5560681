#include "window/backends/device_files.hpp"

#include <system_error>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace isthmus::window {

namespace {

class SystemDeviceFiles final : public DeviceFiles {
public:
  int open(const char* path) const override {
    int descriptor = -1;
    do {
      descriptor = ::open(path, O_RDWR | O_CLOEXEC);
    } while (descriptor < 0 && errno == EINTR);
    return descriptor < 0 ? -errno : descriptor;
  }

  // EINTR: a signal interrupted the call before it did anything. `argument` is unchanged, so the
  // call can be repeated.
  int control(int descriptor, unsigned long request, void* argument) const override {
    int result = -1;
    do {
      result = ::ioctl(descriptor, request, argument);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
  }

  int map(void* where, std::size_t size_bytes, int descriptor, off_t offset,
          void** mapped) const override {
    const int flags = MAP_SHARED | (where == nullptr ? 0 : MAP_FIXED);
    void* const address =
        ::mmap(where, size_bytes, PROT_READ | PROT_WRITE, flags, descriptor, offset);
    if (address == MAP_FAILED) return -errno;
    *mapped = address;
    return 0;
  }

  void unmap(void* mapped, std::size_t size_bytes) const noexcept override {
    ::munmap(mapped, size_bytes);
  }

  // Linux frees the descriptor even if close() returns EINTR: closing again could close another
  // file.
  void close(int descriptor) const noexcept override { ::close(descriptor); }

  ssize_t read_memory(std::uintptr_t address, void* target, std::size_t size_bytes) const override {
    const iovec here{target, size_bytes};
    const iovec there{reinterpret_cast<void*>(address), size_bytes};
    ssize_t result = -1;
    do {
      result = ::process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
  }

  std::uint64_t nanoseconds() const noexcept override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
};

}  // namespace

std::shared_ptr<const DeviceFiles> system_device_files() {
  static const auto files = std::make_shared<const SystemDeviceFiles>();
  return files;
}

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace isthmus::window
