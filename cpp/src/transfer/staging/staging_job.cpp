#include "transfer/staging/staging_job.hpp"

#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "transfer/request/failed_copy.hpp"

namespace isthmus::transfer {

StagingJob::StagingJob(PiecePlan plan, const StagedRanges& ranges)
    : plan_(std::move(plan)),
      ranges_(ranges),
      downloads_(ranges.all().front().target != nullptr),
      progress_(std::make_unique<Progress[]>(num_pieces())),
      full_pieces_(downloads_ ? 0 : num_pieces()) {
  for (std::size_t piece = 0; piece < num_pieces(); ++piece) {
    progress_[piece].num_missing.store(plan_.pieces()[piece].num_parts, std::memory_order_relaxed);
  }
}

std::optional<std::size_t> StagingJob::next_piece(std::size_t piece) const noexcept {
  while (piece < num_pieces() && !failed()) {
    if (is_next(piece)) return piece;
    ++piece;
  }
  return std::nullopt;
}

bool StagingJob::is_next(std::size_t piece) const noexcept {
  return !failed() && next_part_.load(std::memory_order_relaxed) < end_of(piece);
}

std::optional<StagingJob::Part> StagingJob::take_of(std::size_t piece) noexcept {
  std::size_t part = next_part_.load(std::memory_order_relaxed);
  do {
    if (part >= end_of(piece)) return std::nullopt;
  } while (!next_part_.compare_exchange_weak(part, part + 1, std::memory_order_relaxed));
  return Part{piece, plan_.part(plan_.pieces()[piece], part)};
}

bool StagingJob::finish_part(std::size_t piece) noexcept {
  return progress_[piece].num_missing.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void StagingJob::give(std::size_t piece, const TicketedSlot& slot) noexcept {
  if (piece < num_pieces()) progress_[piece].slot.store(slot, std::memory_order_release);
}

std::optional<TicketedSlot> StagingJob::slot_of(std::size_t piece) const noexcept {
  const TicketedSlot slot = progress_[piece].slot.load(std::memory_order_acquire);
  if (slot.index == TicketedSlot::kNone) return std::nullopt;
  return slot;
}

std::size_t StagingJob::num_newly_late(std::size_t enqueued_piece) noexcept {
  while (first_unsent_ < num_pieces() && enqueued(first_unsent_)) ++first_unsent_;
  std::size_t num_late = 0;
  for (std::size_t piece = first_unsent_; piece + 2 <= enqueued_piece; ++piece) {
    if (!enqueued(piece) && !std::exchange(progress_[piece].found_late, true)) ++num_late;
  }
  return num_late;
}

void StagingJob::note_enqueued(std::size_t piece, std::size_t next) noexcept {
  progress_[piece].next_in_slot.store(next, std::memory_order_release);
}

bool StagingJob::enqueued(std::size_t piece) const noexcept {
  return progress_[piece].next_in_slot.load(std::memory_order_acquire) != kNone;
}

/// The caller holds the lock.
void StagingJob::record_failure() noexcept {
  if (failure_ == nullptr) failure_ = std::current_exception();
  failed_.store(true, std::memory_order_release);
}

void StagingJob::fail() noexcept {
  const std::lock_guard lock(mutex_);
  record_failure();
}

void StagingJob::fail_unless_closed() noexcept {
  const std::lock_guard lock(mutex_);
  if (!closed_) record_failure();
}

void StagingJob::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

bool StagingJob::in_target(std::size_t piece, bool arrived) const noexcept {
  if (downloads()) return progress_[piece].num_missing.load(std::memory_order_acquire) == 0;
  if (arrived) return enqueued(piece);
  // A slot is reused once its bytes have crossed.
  const std::size_t next = progress_[piece].next_in_slot.load(std::memory_order_acquire);
  return next < num_pieces() && enqueued(next);
}

void StagingJob::note_undefined(bool arrived) noexcept {
  std::size_t piece = 0;
  while (piece < num_pieces() && in_target(piece, arrived)) ++piece;
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
