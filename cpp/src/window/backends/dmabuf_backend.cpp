// Windows through the documented interface: export device memory as a dma-buf and mmap it.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <isthmus/errors.hpp>

#include "driver/forks.hpp"
#include "window/backend.hpp"
#include "window/backends/device_files.hpp"
#include "window/host_pages.hpp"

namespace isthmus::window {
namespace {

// The file is closed as soon as it is mapped: the mapping keeps the memory.
class DmabufPages : public PageMapping {
public:
  DmabufPages(MappingSteps steps, void* mapped, std::size_t size_bytes, bool shared)
      : PageMapping(std::move(steps), FoundBy::address_range), pages_(mapped, size_bytes) {
    data_ = static_cast<std::byte*>(mapped);
    size_bytes_ = size_bytes;
    shared_ = shared;
  }
  // Afterwards nothing is left to unpin.
  ~DmabufPages() override {
    steps_.time(Step::unmap, [this] { pages_.release(); });
  }

private:
  MappedHostPages pages_;
};

[[noreturn]] void refuse(const std::string& why) {
  throw Unavailable(
      "dmabuf windows", why,
      "an NVIDIA driver for CUDA 13.3 or later, which can map exported device memory");
}

std::string refusal_of(int error) {
  // 524 is the kernel's own ENOTSUPP, which has no text: drivers before R610 return it.
  if (error == 524) return "mmap of an exported dma-buf: not supported by this driver (errno 524)";
  return std::string("mmap of an exported dma-buf: ") + error_text(error);
}

class DmabufBackend : public Backend {
public:
  explicit DmabufBackend(const Driver& driver) : driver_(driver) {}

  WindowBackend kind() const noexcept override { return WindowBackend::dmabuf; }
  std::string description() const override {
    return "CUDA " + version_text(driver_.version()) + ", by mmap of an exported dma-buf";
  }

  std::unique_ptr<PageMapping> map(const Context&, const Allocation& allocation, DevicePages pages,
                                   void* where) override {
    MappingSteps steps(files_);
    const int file = steps.time(Step::pin, [&] { return exported(pages); });
    void* const mapped =
        steps.time(Step::map, [&] { return map_and_close(file, pages.size_bytes, where); });
    return std::make_unique<DmabufPages>(std::move(steps), mapped, pages.size_bytes,
                                         shares_pages(allocation));
  }

private:
  void* map_and_close(int file, std::size_t size_bytes, void* where) const {
    // A dma-buf begins at the range. The emulated driver's file is the whole memory object: its
    // file position is the beginning of the range.
    const off_t begin = std::max<off_t>(lseek(file, 0, SEEK_CUR), 0);
    void* mapped = nullptr;
    const int result = files_->map(where, size_bytes, file, begin, &mapped);
    close(file);
    if (result != 0) refuse(refusal_of(-result));
    return mapped;
  }

  int exported(DevicePages pages) const {
    int file = -1;
    const CUresult result = driver_.raw(symbol::mem_get_handle_for_address_range)(
        &file, CUdeviceptr{pages.begin}, pages.size_bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    if (result == CUDA_SUCCESS) return file;
    refuse("cuMemGetHandleForAddressRange: " + driver_.name_of(result));
  }

  Driver driver_;
  std::shared_ptr<const DeviceFiles> files_ = system_device_files();
};

}  // namespace

std::unique_ptr<Backend> open_dmabuf_backend(const Driver& driver) {
  if (!driver.has(symbol::mem_get_handle_for_address_range))
    refuse("the driver has no cuMemGetHandleForAddressRange");
  return std::make_unique<DmabufBackend>(driver);
}

}  // namespace isthmus::window
