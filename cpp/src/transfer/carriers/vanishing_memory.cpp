#include "transfer/carriers/vanishing_memory.hpp"

#include <string>

#include <isthmus/errors.hpp>

#include "device/cleanup.hpp"
#include "transfer/request/failed_copy.hpp"
#include "transfer/request/mapped_file_copy.hpp"

namespace isthmus::transfer {
namespace {

// Longer copies take the staging ring, where there is one.
constexpr std::size_t kMaxPieceBytes = std::size_t{1} << 20U;
static_assert(kMaxPieceBytes <= BounceMemory::kBytes);

std::unique_ptr<std::byte[]> buffer_if(bool wanted, std::size_t size_bytes) {
  return wanted ? std::make_unique_for_overwrite<std::byte[]>(size_bytes) : nullptr;
}

}  // namespace

VanishingMemoryBuffer::VanishingMemoryBuffer(const CopyEnds& ends, BounceMemory* bounce)
    : ends_(ends),
      piece_bytes_(std::min(ends.size_bytes, kMaxPieceBytes)),
      held_(bounce == nullptr ? BounceMemory::Hold() : bounce->hold()),
      source_(buffer_if(ends.source_may_vanish && !held_, piece_bytes_)),
      target_(buffer_if(ends.target_may_vanish && !held_, piece_bytes_)) {}

const std::byte* VanishingMemoryBuffer::fetched(std::size_t offset_bytes, std::size_t size_bytes) {
  const auto* const first = static_cast<const std::byte*>(ends_.source) + offset_bytes;
  const std::size_t copied = copy_from_mapped_file(source(), first, size_bytes);
  if (copied == size_bytes) return source();
  throw UsageError("the source can't be read at byte " + std::to_string(offset_bytes + copied) +
                   ": the mapped file has become shorter" + "; " +
                   undefined_text(offset_bytes, ends_.size_bytes));
}

void VanishingMemoryBuffer::leave_if_in_use() noexcept {
  if (!leaves_memory_in_use(std::current_exception())) return;
  if (held_) return held_.leave();
  note_leaked(source_.release());
  note_leaked(target_.release());
}

void VanishingMemoryBuffer::store(std::size_t offset_bytes, std::size_t size_bytes) {
  auto* const first = static_cast<std::byte*>(ends_.target) + offset_bytes;
  const std::size_t copied = copy_to_mapped_file(first, target(), size_bytes);
  if (copied == size_bytes) return;
  throw UsageError("the target can't be written at byte " + std::to_string(offset_bytes + copied) +
                   ": it is a mapped file that has become shorter, or read-only" + "; " +
                   undefined_text(offset_bytes, ends_.size_bytes));
}

}  // namespace isthmus::transfer
