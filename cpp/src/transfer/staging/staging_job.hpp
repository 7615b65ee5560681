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
#include "host/spinning_worker.hpp"
#include "transfer/staging/copy_moments.hpp"
#include "transfer/staging/memory_target.hpp"
#include "transfer/staging/part_source.hpp"
#include "transfer/staging/piece_plan.hpp"
#include "transfer/staging/slot_filler.hpp"

namespace isthmus::transfer {

/// What is to be copied, who takes which part of it, how far each piece is, and what went wrong.
/// The public members are set before threads see it. Of `source`, `filler` and `target` two are
/// null.
class StagingJob {
public:
  /// plan        outlives the job
  StagingJob(const PiecePlan& plan, CUdeviceptr device_address);

  const PartSource* source = nullptr;    ///< of an upload
  const SlotFiller* filler = nullptr;    ///< of an upload whose pieces have one part each
  const MemoryTarget* target = nullptr;  ///< of a download
  bool completes = true;                 ///< false: an upload may end with copies under way
  CopyMoments* moments = nullptr;        ///< null if nobody wants to know

  /// Some bytes of a piece for one thread.
  struct Part {
    std::size_t piece = 0;  ///< its index
    Piece bytes;
  };
  /// Gives a part to the calling thread, in order; none when there is none left, or the copy has
  /// failed.
  ///
  /// piece       of the part that the thread had before; 0 at first
  std::optional<Part> take(std::size_t piece) noexcept;
  /// A part has been copied between memory and slot.
  ///
  /// Returns     true if it was the piece's last: what others have copied is there, too
  bool finish_part(std::size_t piece) noexcept;
  /// A piece is on its way across the link. What was written before is seen by who asks then.
  void note_enqueued(std::size_t piece) noexcept;
  bool enqueued(std::size_t piece) const noexcept;

  std::size_t num_pieces() const noexcept { return plan_.pieces().size(); }
  const Piece& bytes_of(std::size_t piece) const noexcept { return plan_.pieces()[piece].bytes; }
  CUdeviceptr device_address_of(std::size_t piece) const noexcept {
    return device_address_ + bytes_of(piece).begin;
  }

  /// Notes the exception that is being handled, and makes take() give no more.
  void fail() noexcept;
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// What a failed copy has left undefined is known: no thread works on it any more.
  ///
  /// num_slots   of the last pieces sent, nobody knows whether they have arrived; 0: they have
  void note_undefined(std::size_t num_slots) noexcept;

  /// Nobody could wait for an upload's copies that are under way.
  void note_in_use() noexcept { in_use_ = true; }

  /// Throws the first failure with the bytes of the target that are undefined, if there was one.
  void rethrow() const;

private:
  struct Progress {
    std::atomic<std::size_t> num_missing{0};  // parts
    std::atomic<bool> enqueued{false};
  };
  [[noreturn]] void rethrow_of_memory_in_use() const;
  bool in_target(std::size_t piece, std::size_t num_slots) const noexcept;

  CUdeviceptr device_address_;
  const PiecePlan& plan_;
  std::unique_ptr<Progress[]> progress_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::size_t first_undefined_ = 0;
  bool in_use_ = false;
  alignas(host::kApartBytes) std::atomic<std::size_t> next_part_{0};
};

}  // namespace isthmus::transfer
