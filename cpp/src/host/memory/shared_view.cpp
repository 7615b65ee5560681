#include "host/memory/shared_view.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <optional>

#include <sys/mman.h>

#include "host/memory/memory_map.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::host {
namespace {

// In between, other threads may map memory. Each piece interrupts all cores that run this process.
constexpr std::size_t kAtOnceBytes = std::size_t{4} << 20U;

bool is_shared(const Pages& pages) noexcept try {
  const std::optional<Mapping> mapping = mapping_at(pages.first);
  return mapping && mapping->shared && mapping->has_file && pages.end <= mapping->end;
} catch (const std::exception&) {
  return false;  // no memory for the list
}

/// False for a device's memory: who touches it after its page has left the page table may get a signal.
bool is_of_files(const Pages& pages) noexcept {
  return populate(Pages(pages.data(), 1), Access::read) == 0;
}

/// A failure costs time alone: locked pages stay, for instance.
void leave_page_table(const Pages& pages) noexcept {
  for (std::uintptr_t at = pages.first; at < pages.end; at += kAtOnceBytes)
    madvise(reinterpret_cast<void*>(at), std::min(kAtOnceBytes, pages.end - at), MADV_DONTNEED);
}

}  // namespace

SharedView::SharedView(const void* memory, std::size_t size_bytes) noexcept {
  if (size_bytes == 0) return;
  const int error_before = errno;
  const Pages pages(memory, size_bytes);
  if (is_shared(pages) && is_of_files(pages)) {
    // An old size of 0 leaves the old mapping as it is: mremap(2).
    void* const view = mremap(pages.data(), 0, pages.size_bytes(), MREMAP_MAYMOVE);
    if (view != MAP_FAILED) {
      view_ = view;
      size_bytes_ = pages.size_bytes();
      leave_page_table(pages);
    }
  }
  errno = error_before;
}

SharedView::~SharedView() {
  if (view_ != nullptr) munmap(view_, size_bytes_);
}

}  // namespace isthmus::host
