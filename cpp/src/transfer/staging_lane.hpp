// What one thread of a staging ring copies with: slots, and a queue that it shares.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "transfer/crossing_queue.hpp"
#include "transfer/slot_memory.hpp"
#include "transfer/staging_job.hpp"

namespace isthmus::transfer {

/// Slots in pinned memory of its own, and the queue that they cross in. One thread at a time.
class StagingLane {
public:
  /// memory      of this lane alone, for `num_slots` slots of slot_bytes(chunk_bytes)
  /// Throws      DriverError, OutOfDeviceMemory.
  StagingLane(const Context& context, std::shared_ptr<CrossingQueue> queue, SlotMemory memory,
              int num_slots, std::size_t chunk_bytes);
  /// Waits for what is under way.
  ~StagingLane();
  StagingLane(const StagingLane&) = delete;
  StagingLane& operator=(const StagingLane&) = delete;

  /// Of a slot for pieces of up to `chunk_bytes`, wherever they begin.
  static std::size_t slot_bytes(std::size_t chunk_bytes) noexcept;

  /// Copies pieces until there are none left, in the queue, which has begun with the job. What
  /// fails is in the job then, and nothing of this lane is under way any more.
  void work(StagingJob& job) noexcept;

  /// Ends what work() left under way, or, after it failed, began. A context must be current.
  ///
  /// Returns     true if all that this lane has sent has arrived; what hasn't is noted in the job.
  bool settle(StagingJob& job) noexcept;
  /// False after the driver wouldn't say whether all has ended: then the slots can't be used again.
  bool usable() const noexcept { return queue_->usable(); }

private:
  struct Slot {
    std::byte* data = nullptr;
    CrossingMark crossed;
    bool under_way = false;
    Piece piece;  // of the job that is being worked on
  };

  void upload(StagingJob& job);
  void download(StagingJob& job);
  Slot* free_slot(const StagingJob& job);
  Slot& next_slot() noexcept;
  void send(const StagingJob& job, Slot& slot, std::size_t lead);
  void fetch(const StagingJob& job, Slot& slot, const Piece& piece);
  void deliver(const StagingJob& job, Slot& slot);
  void mark_sent(Slot& slot) noexcept;
  void await(Slot& slot) const;
  void finish();
  bool stop() noexcept;

  Context context_;
  SlotMemory memory_;
  std::shared_ptr<CrossingQueue> queue_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
  Slot* last_ = nullptr;  // that was sent or fetched
};

}  // namespace isthmus::transfer
