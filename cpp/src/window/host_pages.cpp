#include "window/host_pages.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <string>

#include <isthmus/errors.hpp>

#include "driver/forks.hpp"
#include "window/backends/device_files.hpp"

namespace isthmus::window {
namespace {

constexpr std::size_t kSharedBelowBytes = std::size_t{2} << 20U;

}  // namespace

MappedHostPages::MappedHostPages(void* data, std::size_t size_bytes)
    : data_(data), size_bytes_(size_bytes), process_(process_generation()) {
  madvise(data, size_bytes, MADV_DONTFORK);
}

MappedHostPages::~MappedHostPages() { release(); }

void MappedHostPages::release() noexcept {
  if (size_bytes_ != 0 && process_ == process_generation()) munmap(data_, size_bytes_);
  size_bytes_ = 0;
}

void MappedHostPages::give_up_before(void* end) noexcept {
  size_bytes_ -= static_cast<std::size_t>(static_cast<char*>(end) - static_cast<char*>(data_));
  data_ = end;
}

void* reserve_host_pages(std::size_t size_bytes) {
  void* const reserved =
      mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    throw Unavailable("window of " + std::to_string(size_bytes) + " bytes",
                      std::string("mmap: ") + error_text(errno),
                      "a smaller window, or a higher limit of address space (ulimit -v)");
  return reserved;
}

bool shares_pages(const Allocation& allocation) noexcept {
  return allocation.context == nullptr || allocation.size_bytes < kSharedBelowBytes;
}

}  // namespace isthmus::window
