#include "transfer/saving/save_job.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>

#include "transfer/request/failed_copy.hpp"

namespace isthmus::transfer {

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
