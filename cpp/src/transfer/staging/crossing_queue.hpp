// The order in which pieces cross the link, and how threads learn that theirs have.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "host/patience.hpp"

namespace isthmus::transfer {

/// How a place in a queue's order is marked.
enum class CrossingMarks {
  /// The device writes the numbers of the pieces that have crossed into pinned memory: threads look
  /// there, and not into the driver, whose locks they would keep from those that enqueue.
  flags,
  /// What every driver has.
  events,
};

/// The marks that this driver can make with the least waiting.
CrossingMarks best_marks(const Context& context) noexcept;

/// A place in a queue's order. Made by CrossingQueue::make_mark(), and moved by what is enqueued.
struct CrossingMark {
  std::uint32_t ticket = 0;
  std::optional<Event> event;
};

/// One stream that many threads send and fetch pieces in: a link that changes between streams for
/// each piece is slower than its bytes. Whoever calls holds a CurrentContext, and while streams are
/// captured a ScopedRelaxedCapture. From any thread, but for begin() and join(): one thread, when
/// no other enqueues.
class CrossingQueue {
public:
  /// first_ticket  of a queue that has already counted so far: for tests
  /// Throws        DriverError, OutOfDeviceMemory.
  CrossingQueue(const Context& context, CrossingMarks marks, std::uint32_t first_ticket = 0);
  ~CrossingQueue();
  CrossingQueue(const CrossingQueue&) = delete;
  CrossingQueue& operator=(const CrossingQueue&) = delete;

  CrossingMark make_mark() const;

  /// Starts a copy: what is enqueued from now on comes after `event`, which outlives that.
  ///
  /// event       null: at once
  void begin(const Event* event) noexcept;
  /// Orders what will be enqueued behind that event. Otherwise the first piece's thread does.
  void put_in_order();
  void send(CUdeviceptr target, const std::byte* source, std::size_t size_bytes,
            CrossingMark& mark);
  void fetch(std::byte* target, CUdeviceptr source, std::size_t size_bytes, CrossingMark& mark);

  /// True if what the mark is behind has crossed: the host may use those bytes.
  bool crossed(const CrossingMark& mark) const;
  /// Makes `stream` wait for what was enqueued since begin().
  void join(CUstream stream) const;
  /// Waits for all of it.
  ///
  /// Returns     false if the driver won't: then nobody knows what is still under way.
  bool stop() noexcept;
  /// False after stop() has failed.
  bool usable() const noexcept { return usable_.load(std::memory_order_acquire); }

  /// One wait for a mark.
  class Wait {
  public:
    Wait(const CrossingQueue& queue, const CrossingMark& mark) noexcept
        : queue_(queue), mark_(mark) {}
    /// Pauses if the mark isn't reached; to be called again then.
    ///
    /// Throws      DriverError if it never will be.
    bool over();

  private:
    const CrossingQueue& queue_;
    const CrossingMark& mark_;
    host::Patience patience_;
    int num_pauses_ = 0;
    std::chrono::steady_clock::time_point asks_at_;
  };

private:
  std::unique_lock<std::mutex> lock_for_one_piece();
  void begin_once();
  void put(CrossingMark& mark);
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
