#include "transfer/saving/save_job.hpp"

#include <algorithm>
#include <utility>

#include <isthmus/errors.hpp>

#include "transfer/request/failed_copy.hpp"

namespace isthmus::transfer {

SavedBytes::SavedBytes(std::vector<SavedRange> ranges) : ranges_(std::move(ranges)) {
  std::size_t end = 0;
  ends_.reserve(ranges_.size());
  for (const SavedRange& range : ranges_) ends_.push_back(end += range.size_bytes);
}

std::vector<SavedSegment> SavedBytes::segments(std::size_t begin, std::size_t size_bytes) const {
  std::vector<SavedSegment> found;
  const std::size_t end = begin + size_bytes;
  auto index = static_cast<std::size_t>(std::ranges::upper_bound(ends_, begin) - ends_.begin());
  for (std::size_t at = begin; at < end; ++index) {
    const SavedRange& range = ranges_[index];
    const std::size_t first = ends_[index] - range.size_bytes;
    const std::size_t count = std::min(end, ends_[index]) - at;
    if (count > 0) found.push_back({&range, range.memory + (at - first), count, at - begin});
    at += count;
  }
  return found;
}

SaveJob::SaveJob(const std::optional<Driver>& driver, const SavedBytes& the_bytes,
                 const FileTarget& the_file, std::size_t piece_bytes)
    : bytes(the_bytes), file(the_file), piece_bytes_(piece_bytes) {
  for (const SavedRange& range : bytes.ranges()) {
    if (range.device == kOnHost || contexts_.contains(range.device)) continue;
    if (!driver) throw UsageError(range.name + " is on a device, and no driver was given");
    contexts_.emplace(range.device, Context::retain(*driver, range.device));
  }
}

std::optional<SavedPiece> SaveJob::take() noexcept {
  if (failed_.load(std::memory_order_acquire)) return std::nullopt;
  const std::size_t piece = next_.fetch_add(1, std::memory_order_relaxed);
  if (piece >= num_pieces()) return std::nullopt;
  const std::size_t begin = piece * piece_bytes_;
  return SavedPiece{begin, std::min(piece_bytes_, bytes.size_bytes() - begin)};
}

std::size_t SaveJob::num_pieces() const noexcept {
  return (bytes.size_bytes() + piece_bytes_ - 1) / piece_bytes_;
}

void SaveJob::fail() noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_ == nullptr) failure_ = std::current_exception();
  failed_.store(true, std::memory_order_release);
}

void SaveJob::rethrow() const {
  if (failure_ == nullptr) return;
  if (!in_use_.load(std::memory_order_acquire)) std::rethrow_exception(failure_);
  try {
    std::rethrow_exception(failure_);
  } catch (...) {
    throw_of_memory_in_use();
  }
}

}  // namespace isthmus::transfer
