#include "transfer/staging/host_ends.hpp"

#include <algorithm>
#include <string>

#include <isthmus/errors.hpp>

#include "host/memory/first_touch.hpp"
#include "host/memory/pages.hpp"
#include "transfer/request/mapped_file_copy.hpp"
#include "transfer/staging/host_copy.hpp"

namespace isthmus::transfer {
namespace {

// A disk of 10 GB/s delivers this in 6 ms: more than its latency, and too little to fill a cgroup.
constexpr std::size_t kReadAheadBytes = std::size_t{64} << 20U;

[[noreturn]] void throw_shorter(std::size_t offset_bytes) {
  throw UsageError("the source can't be read at byte " + std::to_string(offset_bytes) +
                   ": the mapped file has become shorter");
}

}  // namespace

void MemorySource::fill(std::byte* place, std::size_t offset_bytes, std::size_t size_bytes) const {
  const std::byte* const first = memory_ + offset_bytes;
  const std::size_t last = size_bytes - 1;
  if (backing_ == Backing::unknown && !readable(first + last)) throw_shorter(offset_bytes + last);
  copy_by(filling_.at(begin_ + offset_bytes), place, first, size_bytes);
}

void MappedFileSource::fill(std::byte* place, std::size_t offset_bytes,
                            std::size_t size_bytes) const {
  const std::size_t ahead = offset_bytes == 0 ? 0 : offset_bytes + kReadAheadBytes;
  if (ahead < size_bytes_) {
    const std::size_t wanted = offset_bytes == 0 ? kReadAheadBytes : size_bytes;
    read_ahead(memory_ + ahead, std::min(wanted, size_bytes_ - ahead));
  }
  const std::size_t copied = copy_from_mapped_file(place, memory_ + offset_bytes, size_bytes);
  if (copied < size_bytes) throw_shorter(offset_bytes + copied);
}

void ListedSource::fill(std::byte* place, std::size_t offset_bytes, std::size_t size_bytes) const {
  const Backing backing = backing_.get();
  if (backing == Backing::file)
    return MappedFileSource(memory_, size_bytes_).fill(place, offset_bytes, size_bytes);
  MemorySource(memory_, backing, filling_, begin_).fill(place, offset_bytes, size_bytes);
}

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
