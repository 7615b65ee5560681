// The order in which pieces cross the link, and how threads learn that a piece has crossed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "device/buffers.hpp"
#include "device/link_copies.hpp"
#include "device/stream.hpp"
#include "host/cpu/backoff.hpp"
#include "transfer/staging/slot_crossing.hpp"

namespace isthmus::transfer {

/// How a place in a queue's order is marked.
enum class CrossingMarks {
  /// The device writes the number of each piece that has crossed into pinned memory. Threads read
  /// it there without asking the driver, whose locks would delay the threads that enqueue.
  flags,
  /// Supported by every driver.
  events,
};

/// The marks of this driver that need the least waiting.
CrossingMarks best_marks(const Context& context) noexcept;

/// A place in a queue's order.
struct CrossingMark {
  std::uint32_t ticket = 0;
  const Event* event = nullptr;  ///< null: the ticket tells
};

/// One stream in which many threads send and fetch pieces: changing streams for each piece would be
/// slower than the link. The caller holds a CurrentContext, and while streams are captured a
/// ScopedRelaxedCapture. May be used from any thread, except begin() and join(): one thread, while
/// no other enqueues.
class CrossingQueue {
public:
  /// first_ticket  the ticket to start from, for tests
  /// Throws        DriverError, OutOfDeviceMemory.
  CrossingQueue(const Context& context, CrossingMarks marks, std::uint32_t first_ticket = 0);
  ~CrossingQueue();
  CrossingQueue(const CrossingQueue&) = delete;
  CrossingQueue& operator=(const CrossingQueue&) = delete;

  /// What marks of one slot need: one event, or null if the device writes their tickets.
  std::unique_ptr<Event> make_event() const;
  /// A mark that is passed already, with that event of the slot.
  CrossingMark passed(const Event* event) const noexcept;

  /// Starts a copy: what is enqueued from now on comes after `event`.
  ///
  /// event       outlives the copy; null: no wait
  void begin(const Event* event) noexcept;
  /// Makes the queue wait for that event now. Otherwise the thread of the first piece does.
  void put_in_order();
  /// Enqueues a piece, and returns the mark behind it.
  ///
  /// copies      between slots and the device; there may be none
  /// event       of make_event(); marks that it made before are passed later, with this one
  /// crossing    null: the driver copies them
  CrossingMark cross(std::span<const LinkCopy> copies, const Event* event,
                     const SlotCrossing* crossing = nullptr);

  /// True if everything before the mark has crossed: the host may use those bytes.
  bool crossed(const CrossingMark& mark) const;
  /// Makes `stream` wait for what was enqueued since begin().
  void join(CUstream stream) const;
  /// Waits for everything.
  ///
  /// Returns     false if the driver can't wait: then what is still running is unknown.
  bool stop() noexcept;
  /// False after stop() has failed.
  bool usable() const noexcept { return usable_.load(std::memory_order_acquire); }

  /// One wait for a mark.
  class Wait {
  public:
    Wait(const CrossingQueue& queue, CrossingMark mark,
         const host::SpinLimits& limits = {}) noexcept
        : queue_(queue), mark_(mark), backoff_(limits) {}
    /// Pauses if the mark isn't reached; then call it again.
    ///
    /// Throws      DriverError if it will never be reached.
    bool over();

  private:
    const CrossingQueue& queue_;
    CrossingMark mark_;
    host::Backoff backoff_;
    int num_pauses_ = 0;
    std::chrono::steady_clock::time_point asks_at_;
  };

private:
  std::unique_lock<std::mutex> lock_for_one_piece();
  void begin_once();
  void enqueue(std::span<const LinkCopy> copies) const;
  CrossingMark put(const Event* event);
  std::uint32_t word() const noexcept;

  Stream stream_;
  CrossingMarks marks_;
  std::unique_ptr<PinnedBuffer> flag_;  // the ticket of the last piece that has crossed
  CUdeviceptr flag_address_ = 0;
  Event joined_;
  std::mutex enqueueing_;
  const Event* begins_after_ = nullptr;
  std::uint32_t last_ticket_;
  std::uint32_t begun_at_;  // last_ticket_ at begin()
  std::atomic<bool> usable_{true};
};

}  // namespace isthmus::transfer
