#include "transfer/saving/staged_piece.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "transfer/request/failed_copy.hpp"
#include "transfer/request/mapped_file_copy.hpp"

namespace isthmus::transfer {
namespace {

[[noreturn]] void throw_unreadable(const SavedSegment& segment) {
  throw UsageError(segment.range->name +
                   ": its memory can't be read; it was freed, or is a mapped file that has become "
                   "shorter");
}

}  // namespace

StagedPiece::~StagedPiece() {
  for (const int device : devices_under_way_) {
    const Context& context = job_.context(device);
    try {
      const CurrentContext current(context);
      if (becomes_idle(context.driver(), streams_.at(device).handle())) continue;
    } catch (...) {  // NOLINT(bugprone-empty-catch): nobody knows what is running
    }
    job_.note_in_use();
  }
}

void StagedPiece::begin(const SavedPiece& piece) {
  piece_ = piece;
  segments_ = job_.bytes.segments(piece.begin, piece.size_bytes);
  if (is_readable_as_it_is()) return;
  // First what the devices copy by themselves.
  for (const SavedSegment& segment : segments_) {
    if (segment.range->device != kOnHost) enqueue(segment);
  }
  for (const SavedSegment& segment : segments_) {
    if (segment.range->device == kOnHost) collect(segment);
  }
}

/// True if the piece is in one array's memory on the host, from where it can be written.
bool StagedPiece::is_readable_as_it_is() const noexcept {
  return segments_.size() == 1 && segments_[0].range->device == kOnHost &&
         job_.file.takes(segments_[0].memory);
}

void StagedPiece::collect(const SavedSegment& segment) {
  // The kernel copies: memory that has gone is an error, not a signal.
  const std::size_t copied =
      copy_from_mapped_file(memory_ + segment.place, segment.memory, segment.size_bytes);
  if (copied < segment.size_bytes) throw_unreadable(segment);
}

void StagedPiece::enqueue(const SavedSegment& segment) {
  const int device = segment.range->device;
  const Context& context = job_.context(device);
  const CurrentContext current(context);
  const Stream& stream = streams_.try_emplace(device, context).first->second;
  if (std::ranges::find(devices_under_way_, device) == devices_under_way_.end())
    devices_under_way_.push_back(device);
  try {
    context.driver().call(symbol::memcpy_dtoh_async)(static_cast<void*>(memory_ + segment.place),
                                                     reinterpret_cast<CUdeviceptr>(segment.memory),
                                                     segment.size_bytes, stream.handle());
  } catch (const DriverError& error) {
    error.throw_adding(segment.range->name + " can't be read");
  }
}

void StagedPiece::await_copies() {
  while (!devices_under_way_.empty()) {
    const Context& context = job_.context(devices_under_way_.back());
    const CurrentContext current(context);
    try {
      streams_.at(devices_under_way_.back()).synchronize();
    } catch (const DriverError& error) {
      error.throw_adding(segments_.front().range->name + ", or one after it, can't be read");
    }
    devices_under_way_.pop_back();
  }
}

void StagedPiece::write() {
  const bool as_it_is = is_readable_as_it_is();
  await_copies();
  const std::byte* const from = as_it_is ? segments_[0].memory : memory_;
  try {
    job_.file.write({from, piece_.size_bytes}, piece_.begin);
  } catch (const std::system_error& error) {
    if (as_it_is && error.code().value() == EFAULT) throw_unreadable(segments_[0]);
    throw;
  }
}

}  // namespace isthmus::transfer
