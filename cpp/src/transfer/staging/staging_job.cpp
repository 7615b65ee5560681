#include "transfer/staging/staging_job.hpp"

#include <string>

#include <isthmus/errors.hpp>

#include "transfer/copy/failed_copy.hpp"
#include "transfer/copy/undefined_bytes.hpp"

namespace isthmus::transfer {

StagingJob::StagingJob(const PiecePlan& plan, const StagedRanges& ranges)
    : plan_(plan), ranges_(ranges), progress_(std::make_unique<Progress[]>(plan.pieces().size())) {
  for (std::size_t piece = 0; piece < num_pieces(); ++piece) {
    progress_[piece].num_missing.store(plan.pieces()[piece].num_parts, std::memory_order_relaxed);
  }
}

std::optional<StagingJob::Part> StagingJob::take(std::size_t piece) noexcept {
  if (failed()) return std::nullopt;
  const std::size_t part = next_part_.fetch_add(1, std::memory_order_relaxed);
  if (part >= plan_.num_parts()) return std::nullopt;
  const auto& pieces = plan_.pieces();
  while (part >= pieces[piece].first_part + pieces[piece].num_parts) ++piece;
  return Part{piece, plan_.part(pieces[piece], part)};
}

bool StagingJob::finish_part(std::size_t piece) noexcept {
  return progress_[piece].num_missing.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void StagingJob::note_enqueued(std::size_t piece) noexcept {
  progress_[piece].enqueued.store(true, std::memory_order_release);
}

bool StagingJob::enqueued(std::size_t piece) const noexcept {
  return progress_[piece].enqueued.load(std::memory_order_acquire);
}

void StagingJob::fail() noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_ == nullptr) failure_ = std::current_exception();
  failed_.store(true, std::memory_order_release);
}

bool StagingJob::in_target(std::size_t piece, std::size_t num_slots) const noexcept {
  if (downloads()) return progress_[piece].num_missing.load(std::memory_order_acquire) == 0;
  // A slot is reused once its bytes have crossed.
  const std::size_t next_in_slot = piece + num_slots;
  return enqueued(piece) &&
         (num_slots == 0 || (next_in_slot < num_pieces() && enqueued(next_in_slot)));
}

void StagingJob::note_undefined(std::size_t num_slots) noexcept {
  std::size_t piece = 0;
  while (piece < num_pieces() && in_target(piece, num_slots)) ++piece;
  first_undefined_ = piece < num_pieces() ? bytes_of(piece).begin : plan_.size_bytes();
}

void StagingJob::rethrow_of_memory_in_use() const {
  try {
    std::rethrow_exception(failure_);
  } catch (...) {
    throw_of_memory_in_use();
  }
}

void StagingJob::rethrow() const {
  if (!failed()) return;
  if (in_use_) rethrow_of_memory_in_use();
  const std::string undefined = ranges_.all().size() > 1 ? "all bytes of the targets are undefined"
                                : ranges_.crossing() != nullptr
                                    ? "all items of the target are undefined"
                                    : undefined_text(first_undefined_, plan_.size_bytes());
  try {
    std::rethrow_exception(failure_);
  } catch (const DriverError& error) {
    error.throw_adding(undefined);
  } catch (const UsageError& error) {
    throw UsageError(error.what() + ("; " + undefined));
  }
}

}  // namespace isthmus::transfer
