#include "transfer/staging/memory_target.hpp"

#include <string>

#include <isthmus/errors.hpp>

#include "host/memory/first_touch.hpp"
#include "host/memory/pages.hpp"
#include "transfer/request/mapped_file_copy.hpp"
#include "transfer/staging/host_copy.hpp"

namespace isthmus::transfer {
MemoryTarget::MemoryTarget(std::byte* memory, std::size_t size_bytes, const TargetSizes& sizes,
                           Backing backing) noexcept
    : memory_(memory),
      streamed_(size_bytes >= sizes.min_streamed_bytes),
      backing_(backing),
      fresh_(backing != Backing::file && partly_untouched(memory, size_bytes)),
      // A huge page is one thread's, so few threads copy to few of them: quicker than small pages.
      huge_(fresh_ && size_bytes >= sizes.min_huge_bytes &&
            host::advise_huge_pages(memory, size_bytes)) {}

/// Parts end at whole pages, so each page is touched by only one thread.
std::size_t MemoryTarget::grain_bytes() const noexcept {
  return huge_ ? host::kHugePageBytes : host::kSmallPageBytes;
}

void MemoryTarget::make_pages(const Piece& part) const noexcept {
  // Touching pages that exist costs a third of copying them, so check first: by one system call,
  // because a list's targets are checked even if they have their pages.
  if (part.size_bytes == 0 || !fresh_ || backing_.get() == Backing::file) return;
  std::byte* const first = memory_ + part.begin;
  if (!host::all_resident({first, part.size_bytes})) host::touch_pages(first, part.size_bytes);
}

void MemoryTarget::store(const Piece& part, const std::byte* source) const {
  std::byte* const target = memory_ + part.begin;
  if (backing_.get() == Backing::file) {
    const std::size_t copied = copy_to_mapped_file(target, source, part.size_bytes);
    if (copied == part.size_bytes) return;
    throw UsageError("the target can't be written at byte " + std::to_string(part.begin + copied) +
                     ": it is a mapped file that has become shorter, or read-only");
  }
  copy_by(streamed_ ? SlotStores::streaming : SlotStores::plain, target, source, part.size_bytes);
}

}  // namespace isthmus::transfer
