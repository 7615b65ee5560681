// One copy that the threads of a staging ring share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>

#include "driver/driver.hpp"
#include "host/cpu/spinning_worker.hpp"
#include "transfer/staging/copy_moments.hpp"
#include "transfer/staging/piece_plan.hpp"
#include "transfer/staging/slot_filler.hpp"
#include "transfer/staging/staged_ranges.hpp"

namespace isthmus::transfer {

/// The bytes to copy, which thread takes which part, the progress of each piece, and the failure.
/// The public members are set before threads see it.
class StagingJob {
public:
  /// plan        of the ranges' bytes; outlives the job
  /// ranges      at least one; outlive the job
  StagingJob(const PiecePlan& plan, const StagedRanges& ranges);

  const SlotFiller* filler = nullptr;  ///< for an upload whose pieces have one part each
  bool completes = true;               ///< false: an upload may return with copies still running
  bool sleeps = false;                 ///< threads that wait for the link sleep at once
  CopyMoments* moments = nullptr;      ///< null if nobody asks for it

  /// Some bytes of a piece, for one thread.
  struct Part {
    std::size_t piece = 0;  ///< its index
    Piece bytes;
  };
  /// Gives the calling thread the next part, in order; nothing if none is left or the copy has
  /// failed.
  ///
  /// piece       of the thread's previous part; 0 at first
  std::optional<Part> take(std::size_t piece) noexcept;
  /// Reports that a part has been copied between memory and slot.
  ///
  /// Returns     true if it was the piece's last part: then the other threads' bytes are visible,
  ///             too
  bool finish_part(std::size_t piece) noexcept;
  /// Reports that a piece was enqueued. Threads for which enqueued() is true see earlier writes.
  void note_enqueued(std::size_t piece) noexcept;
  bool enqueued(std::size_t piece) const noexcept;

  std::size_t num_pieces() const noexcept { return plan_.pieces().size(); }
  const Piece& bytes_of(std::size_t piece) const noexcept { return plan_.pieces()[piece].bytes; }
  const StagedRanges& ranges() const noexcept { return ranges_; }
  bool downloads() const noexcept { return ranges_.all().front().target != nullptr; }

  /// Records the exception that is being handled, and makes take() give no more parts.
  void fail() noexcept;
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Records which bytes a failed copy leaves undefined; no thread works on it any more.
  ///
  /// num_slots   how many of the last enqueued pieces may not have arrived; 0: all have
  void note_undefined(std::size_t num_slots) noexcept;

  /// Records that an upload's copies may still be running, because waiting for them failed.
  void note_in_use() noexcept { in_use_ = true; }

  /// If there was a failure, throws the first, with the undefined bytes of the target. Of several
  /// targets all are: they share pieces.
  void rethrow() const;

private:
  struct Progress {
    std::atomic<std::size_t> num_missing{0};  // parts
    std::atomic<bool> enqueued{false};
  };
  [[noreturn]] void rethrow_of_memory_in_use() const;
  bool in_target(std::size_t piece, std::size_t num_slots) const noexcept;

  const PiecePlan& plan_;
  const StagedRanges& ranges_;
  std::unique_ptr<Progress[]> progress_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::size_t first_undefined_ = 0;
  bool in_use_ = false;
  alignas(host::kApartBytes) std::atomic<std::size_t> next_part_{0};
};

}  // namespace isthmus::transfer
