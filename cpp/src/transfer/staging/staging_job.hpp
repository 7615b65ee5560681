// One copy that the threads of a staging ring share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "device/link_copies.hpp"
#include "driver/driver.hpp"
#include "host/cpu/spinning_worker.hpp"
#include "transfer/staging/piece_plan.hpp"
#include "transfer/staging/slot_filler.hpp"
#include "transfer/staging/staged_ranges.hpp"

namespace isthmus::transfer {

/// Filled by the threads of one copy, in ns of host::steady_ns(). A thread that begins when the copy
/// ends may note that in the next one's.
class CopyMoments {
public:
  void clear() noexcept {
    last_begun_ns_ = first_enqueued_ns_ = last_enqueued_ns_ = enqueueing_ns_ = 0;
    num_pieces_ = 0;
  }
  /// A thread began to work.
  void note_begun(std::int64_t now_ns) noexcept { raise(last_begun_ns_, now_ns); }
  /// A piece was enqueued, from `begun_ns` to `ended_ns`.
  void note_enqueued(std::int64_t begun_ns, std::int64_t ended_ns) noexcept {
    std::int64_t none = 0;
    first_enqueued_ns_.compare_exchange_strong(none, ended_ns);
    raise(last_enqueued_ns_, ended_ns);
    enqueueing_ns_ += ended_ns - begun_ns;
    ++num_pieces_;
  }

  std::int64_t last_begun_ns() const noexcept { return last_begun_ns_; }
  std::int64_t first_enqueued_ns() const noexcept { return first_enqueued_ns_; }
  std::int64_t last_enqueued_ns() const noexcept { return last_enqueued_ns_; }
  /// The sum over all threads, including what they waited for each other.
  std::int64_t enqueueing_ns() const noexcept { return enqueueing_ns_; }
  std::int64_t num_pieces() const noexcept { return num_pieces_; }

private:
  static void raise(std::atomic<std::int64_t>& last_ns, std::int64_t now_ns) noexcept {
    std::int64_t before_ns = last_ns;
    while (before_ns < now_ns && !last_ns.compare_exchange_weak(before_ns, now_ns)) {
    }
  }

  std::atomic<std::int64_t> last_begun_ns_{0};
  std::atomic<std::int64_t> first_enqueued_ns_{0};
  std::atomic<std::int64_t> last_enqueued_ns_{0};
  std::atomic<std::int64_t> enqueueing_ns_{0};
  std::atomic<std::int64_t> num_pieces_{0};
};

/// A piece whose bytes are all in its slot.
struct FullPiece {
  std::size_t piece = 0;  ///< its index
  std::uint32_t slot = 0;
  std::vector<LinkCopy> copies;
};

/// Pieces in the order in which they became full. Any thread adds; one at a time, the sender, takes.
/// It holds this as a lock. A thread that adds a piece must then try to become the sender, until it
/// fails or nothing is left.
///
/// The operations are sequentially consistent. So a thread that fails to become the sender has left
/// its piece to the one that is: that one finds the piece when it looks again after unlock().
class FullPieces {
public:
  /// num_pieces  that will be added, each once
  explicit FullPieces(std::size_t num_pieces)
      : num_pieces_(num_pieces), entries_(std::make_unique<Entry[]>(num_pieces)) {}

  void add(FullPiece full) noexcept {
    Entry& entry = entries_[num_added_.fetch_add(1, std::memory_order_relaxed)];
    entry.full = std::move(full);
    entry.added.store(true);
  }
  /// True if the next piece isn't full.
  bool empty() const noexcept {
    const std::size_t next = num_taken_.load();
    return next == num_pieces_ || !entries_[next].added.load();
  }
  /// Called by the sender. Nothing if it is empty().
  std::optional<FullPiece> take() noexcept {
    if (empty()) return std::nullopt;
    const std::size_t next = num_taken_.load();
    num_taken_.store(next + 1);
    return std::move(entries_[next].full);
  }

  /// Makes the calling thread the sender if there is none.
  bool try_lock() noexcept { return !has_sender_.exchange(true); }
  void unlock() noexcept { has_sender_.store(false); }

private:
  struct Entry {
    FullPiece full;
    std::atomic<bool> added{false};
  };

  const std::size_t num_pieces_;
  const std::unique_ptr<Entry[]> entries_;
  std::atomic<bool> has_sender_{false};
  std::atomic<std::size_t> num_added_{0};
  std::atomic<std::size_t> num_taken_{0};
};

/// A slot, and the ticket of the queue after which threads may use it: until then an upload's former
/// bytes leave it, or a download's arrive.
struct alignas(8) TicketedSlot {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t index = kNone;
  std::uint32_t ticket = 0;
};

/// The bytes to copy, which thread takes which part, which piece uses which slot, the progress of
/// each piece, and the failure. Slots go to pieces in order, whenever one is free: a piece that one
/// thread holds up keeps only its own slot. Once it is done(), threads that are late see only that,
/// and nothing of what the job refers to.
///
/// The public members are set before threads see it.
class StagingJob {
public:
  /// plan        of the ranges' bytes
  /// ranges      at least one; live until the job is done(), or no thread works on it
  StagingJob(PiecePlan plan, const StagedRanges& ranges);

  const SlotFiller* filler = nullptr;  ///< for an upload whose pieces have one part each
  bool completes = true;               ///< false: an upload may return with copies still running
  bool sleeps = false;                 ///< threads that wait for the link sleep at once
  std::size_t num_slots = ~std::size_t{0};  ///< for an upload that no thread holds up, at most
  bool makes_pages = false;  ///< threads of a download make a part's pages before its bytes arrive
  CopyMoments* moments = nullptr;  ///< null if nobody asks for it

  /// Some bytes of a piece, for one thread.
  struct Part {
    std::size_t piece = 0;  ///< its index
    Piece bytes;
  };
  /// The piece of the next part; nothing if none is left or the copy has failed.
  ///
  /// piece       of the thread's previous part; 0 at first
  std::optional<std::size_t> next_piece(std::size_t piece) const noexcept;
  /// True as long as next_piece() is this one, which it has been.
  bool is_next(std::size_t piece) const noexcept;
  /// Gives the calling thread the next part, in order; nothing if it isn't one of this piece, which
  /// was the next, any more.
  std::optional<Part> take_of(std::size_t piece) noexcept;
  /// Reports that a part has been copied between memory and slot.
  ///
  /// Returns     true if it was the piece's last part: then the other threads' bytes are visible,
  ///             too
  bool finish_part(std::size_t piece) noexcept;
  /// Chooses the piece that the next free slot goes to; num_pieces() or more if all have one.
  std::size_t claim() noexcept { return next_claimed_.fetch_add(1, std::memory_order_relaxed); }
  /// Gives a piece of claim() its slot. Threads that see it see earlier writes.
  void give(std::size_t piece, const TicketedSlot& slot) noexcept;
  /// The slot of a piece; nothing as long as it has none.
  std::optional<TicketedSlot> slot_of(std::size_t piece) const noexcept;
  /// Of an upload.
  FullPieces& full_pieces() noexcept { return full_pieces_; }
  /// Reports that a piece of an upload was enqueued. Its slot goes to `next`, of claim().
  void note_enqueued(std::size_t piece, std::size_t next) noexcept;
  /// How many pieces are late, and weren't before: they aren't enqueued, although one that is at least
  /// the second after them is. Called by the sender.
  std::size_t num_newly_late(std::size_t enqueued_piece) noexcept;

  /// Reports that no thread will touch a piece's bytes, slot and ranges any more.
  void note_done() noexcept { num_done_.fetch_add(1, std::memory_order_acq_rel); }
  /// True if that holds for all pieces. Threads that see it see earlier writes.
  bool done() const noexcept { return num_done_.load(std::memory_order_acquire) == num_pieces(); }

  std::size_t num_pieces() const noexcept { return plan_.pieces().size(); }
  const Piece& bytes_of(std::size_t piece) const noexcept { return plan_.pieces()[piece].bytes; }
  const StagedRanges& ranges() const noexcept { return ranges_; }
  bool downloads() const noexcept { return downloads_; }

  /// Records the exception that is being handled; next_piece() gives no more.
  void fail() noexcept;
  /// The same in a thread that may be late: once the job is closed it changes nothing.
  void fail_unless_closed() noexcept;
  /// Call when the job is done, or no thread works on it, and before asking whether it has failed.
  void close() noexcept;
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Records which bytes a failed copy leaves undefined; the job is closed.
  ///
  /// arrived     all enqueued pieces have; otherwise only those whose slot was enqueued again
  void note_undefined(bool arrived) noexcept;

  /// Records that an upload's copies may still be running, because waiting for them failed.
  void note_in_use() noexcept { in_use_ = true; }

  /// If there was a failure, throws the first, with the undefined bytes of the target. Of several
  /// targets all are: they share pieces.
  void rethrow() const;

private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Progress {
    std::atomic<std::size_t> num_missing{0};  // parts
    std::atomic<TicketedSlot> slot{};
    // Of an upload:
    std::atomic<std::size_t> next_in_slot{kNone};  // the next piece in its slot
    bool found_late = false;
  };
  static_assert(std::atomic<TicketedSlot>::is_always_lock_free);
  [[noreturn]] void rethrow_of_memory_in_use() const;
  std::size_t end_of(std::size_t piece) const noexcept {
    return plan_.pieces()[piece].first_part + plan_.pieces()[piece].num_parts;
  }
  bool enqueued(std::size_t piece) const noexcept;
  bool in_target(std::size_t piece, bool arrived) const noexcept;
  void record_failure() noexcept;

  PiecePlan plan_;
  const StagedRanges& ranges_;
  const bool downloads_;
  std::unique_ptr<Progress[]> progress_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr failure_;
  bool closed_ = false;
  std::size_t first_undefined_ = 0;
  bool in_use_ = false;
  alignas(host::kApartBytes) std::atomic<std::size_t> next_part_{0};
  alignas(host::kApartBytes) std::atomic<std::size_t> next_claimed_{0};
  std::atomic<std::size_t> num_done_{0};
  alignas(host::kApartBytes) FullPieces full_pieces_;
  std::size_t first_unsent_ = 0;  // the sender's
};

}  // namespace isthmus::transfer
