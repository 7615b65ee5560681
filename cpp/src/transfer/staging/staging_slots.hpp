// What the threads of a staging ring copy through: slots in pinned memory, and the queue that
// pieces cross in.
#pragma once

#include <cstddef>
#include <vector>

#include "transfer/pinned/pinned_region.hpp"
#include "transfer/staging/crossing_queue.hpp"
#include "transfer/staging/staging_job.hpp"

namespace isthmus::transfer {

/// A few slots that all threads fill and empty together, part by part. A piece has a slot, which
/// the piece so many slots later has next; whoever copies the last part of a piece of an upload
/// sends it, and of a download fetches the next one for its slot. Parts are taken in order and one
/// at a time, so that a thread waits only for pieces whose parts others have taken before.
class StagingSlots {
public:
  /// Throws      DriverError, OutOfDeviceMemory, Unavailable.
  StagingSlots(const Context& context, CrossingMarks marks, int num_slots, std::size_t slot_bytes);
  /// Waits for what is under way.
  ~StagingSlots();
  StagingSlots(const StagingSlots&) = delete;
  StagingSlots& operator=(const StagingSlots&) = delete;

  /// Pinned for so many slots.
  static std::size_t memory_bytes(int num_slots, std::size_t slot_bytes) noexcept;

  /// Before a job whose pieces have up to `piece_bytes`, and begin after `event`. A context must be
  /// current.
  ///
  /// event       outlives the job; null: at once
  /// Throws      DriverError: nothing of the job is under way then.
  void begin(std::size_t piece_bytes, const Event* event);
  /// Fetches the first piece of a download; of an upload nothing. One thread, before others work.
  void fetch_first(StagingJob& job) noexcept;
  /// Asks for the event that begin() has named, so that nobody who has filled a slot need to. The
  /// same thread; others may work.
  void put_in_order(StagingJob& job) noexcept;
  /// Fetches as many more as there are slots for. The same thread; others may work.
  void fetch_more(StagingJob& job) noexcept;
  /// Copies parts until there are none left. From several threads. What fails is in the job then.
  void work(StagingJob& job) noexcept;
  /// When all threads have worked: waits for what the job has to wait for.
  void finish(StagingJob& job) noexcept;
  /// Makes `stream` wait for an upload that doesn't complete; where the driver can't, waits itself.
  void leave_under_way(StagingJob& job, CUstream stream) noexcept;

  /// False after the driver wouldn't say whether all has ended: then the slots can't be used again.
  bool usable() const noexcept { return queue_.usable(); }

private:
  struct Slot {
    std::byte* data = nullptr;
    CrossingMark crossed;
    bool under_way = false;  // and nobody has seen it cross
  };

  void arrange(std::size_t piece_bytes);
  void upload(StagingJob& job);
  void download(StagingJob& job);
  void send(StagingJob& job, std::size_t piece, std::size_t lead);
  void fetch(StagingJob& job, std::size_t piece);
  void fetch_all(StagingJob& job, std::size_t begin, std::size_t end) noexcept;
  Slot& slot_of(std::size_t piece) noexcept { return slots_[(first_ + piece) % slots_.size()]; }
  bool await_free_slot(const StagingJob& job, std::size_t piece);
  bool await_enqueued(const StagingJob& job, std::size_t piece) const;
  bool await_crossed(const StagingJob& job, const Slot& slot) const;
  bool is_under_way() const;
  void await_all();
  void settle(StagingJob& job) noexcept;
  bool stop() noexcept;

  Context context_;
  PinnedRegion memory_;
  std::size_t memory_bytes_;
  CrossingQueue queue_;
  std::vector<Slot> slots_;
  std::size_t stride_bytes_ = 0;  // from slot to slot
  std::size_t first_ = 0;         // the slot of the job's first piece
};

}  // namespace isthmus::transfer
