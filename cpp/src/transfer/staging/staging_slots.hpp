// The staging ring's slots in pinned memory, and the queue in which pieces cross.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "transfer/pinned/pinned_region.hpp"
#include "transfer/staging/crossing_queue.hpp"
#include "transfer/staging/staging_job.hpp"

namespace isthmus::transfer {

/// A few slots that all threads fill and empty together, part by part. The thread that copies the
/// last part of an upload's piece sends the piece, or leaves it to a thread that is sending another
/// one: that core has the driver's code in its caches. The slot goes to the next piece without one. In
/// a download that thread fetches the next piece without a slot.
///
/// The system may take a thread's core for milliseconds. A thread takes a part only when it can copy
/// it at once, so one that is delayed while it waits delays nobody. One that is delayed amid a part
/// holds up its piece, and keeps that slot from the others; pieces after it go on in the other slots,
/// and cross before it. Only one that is delayed in the few microseconds in which it sends a piece,
/// fetches one, or passes one on holds up all others. A job that is done needn't wait for the threads
/// that work() on it.
class StagingSlots {
public:
  /// Throws      DriverError, OutOfDeviceMemory, Unavailable.
  StagingSlots(const Context& context, CrossingMarks marks, int num_slots, std::size_t slot_bytes);
  /// Waits for what is under way.
  ~StagingSlots();
  StagingSlots(const StagingSlots&) = delete;
  StagingSlots& operator=(const StagingSlots&) = delete;

  /// Bytes that this many slots pin.
  static std::size_t memory_bytes(int num_slots, std::size_t slot_bytes) noexcept;

  /// Call before threads work on a job whose pieces have up to `piece_bytes` and begin after
  /// `event`. A context must be current. Unless it fits(), no thread works on a former job.
  ///
  /// event       outlives the job; null: no wait
  /// Throws      DriverError: then no part of the job is running.
  void begin(StagingJob& job, std::size_t piece_bytes, const Event* event);
  /// True if the slots needn't be arranged anew for pieces of up to `piece_bytes`.
  bool fits(std::size_t piece_bytes) const noexcept;
  /// Fetches the first piece of a download; for an upload does nothing. One thread, before others
  /// work.
  void fetch_first(StagingJob& job) noexcept;
  /// Makes the queue wait for the event of begin(), so that no thread with a full slot has to do
  /// it. Called by the same thread; others may already work.
  void put_in_order(StagingJob& job) noexcept;
  /// Fetches as many more pieces as there are slots for. Called by the same thread; others may
  /// already work.
  void fetch_more(StagingJob& job) noexcept;
  /// Copies parts until none are left. Called by several threads, which may return after the job is
  /// done. Failures are recorded in the job.
  void work(StagingJob& job) noexcept;
  /// When the job is closed: waits for what it has to wait for.
  void finish(StagingJob& job) noexcept;
  /// Makes `stream` wait for an upload that is still running; if the driver can't do that, waits
  /// itself.
  void leave_under_way(StagingJob& job, CUstream stream) noexcept;

  /// False if the driver couldn't say whether everything has ended: then the slots can't be reused.
  bool usable() const noexcept { return queue_.usable(); }

private:
  struct Slot {
    std::byte* data = nullptr;
    std::unique_ptr<Event> event;  // of its marks
    CrossingMark crossed;
    bool under_way = false;  // and nobody has seen it cross
  };
  struct Placed {
    StagingJob::Part part;
    std::uint32_t slot = 0;
  };

  void arrange(std::size_t piece_bytes);
  void sort_slots();
  void upload(StagingJob& job);
  void download(StagingJob& job);
  void send_full(StagingJob& job);
  void send(StagingJob& job, const FullPiece& full);
  void give(StagingJob& job, std::uint32_t slot) const noexcept;
  void fetch(StagingJob& job, std::size_t piece, std::uint32_t slot);
  TicketedSlot cross(StagingJob& job, std::uint32_t slot, std::span<const LinkCopy> copies);
  void fetch_into(StagingJob& job, std::span<const std::uint32_t> slots) noexcept;
  std::optional<Placed> take_ready(StagingJob& job, std::size_t piece) const;
  std::optional<Placed> take_with_pages(StagingJob& job, std::size_t piece) const;
  template <typename GoesOn>
  std::optional<std::uint32_t> await_slot(const StagingJob& job, std::size_t piece,
                                          GoesOn goes_on) const;
  bool is_under_way() const;
  void await_all();
  void settle(StagingJob& job) noexcept;
  bool stop() noexcept;

  Context context_;
  PinnedRegion memory_;
  std::size_t memory_bytes_;
  CrossingQueue queue_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> sequence_;  // the slots, as a job uses them first
  std::size_t num_given_ = 0;            // of these, by an upload; then only its sender's
  std::size_t stride_bytes_ = 0;         // from slot to slot
};

}  // namespace isthmus::transfer
