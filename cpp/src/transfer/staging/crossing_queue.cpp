#include "transfer/staging/crossing_queue.hpp"

#include <utility>

#include "device/cleanup.hpp"
#include "host/cpu/spinning_worker.hpp"
#include "transfer/request/failed_copy.hpp"

namespace isthmus::transfer {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than the largest piece takes, so that a normal copy asks the driver nothing.
constexpr std::chrono::milliseconds kAskTime{1};
constexpr int kPausesPerClockRead = 64;

}  // namespace

CrossingMarks best_marks(const Context& context) noexcept {
  const bool writes = context.device().stream_memory_operations &&
                      context.driver().has(symbol::stream_write_value32);
  return writes ? CrossingMarks::flags : CrossingMarks::events;
}

CrossingQueue::CrossingQueue(const Context& context, CrossingMarks marks,
                             std::uint32_t first_ticket)
    : stream_(context),
      marks_(marks),
      joined_(context, Event::Timing::disabled),
      last_ticket_(first_ticket),
      begun_at_(first_ticket) {
  if (marks_ == CrossingMarks::events) return;
  // No other data shares the cache line that the device writes.
  flag_ = std::make_unique<PinnedBuffer>(context, host::kApartBytes);
  flag_address_ = flag_->device_pointer();
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(flag_->data()), first_ticket, __ATOMIC_RELEASE);
}

CrossingQueue::~CrossingQueue() {
  // The device may still write its ticket.
  if (!usable()) keep_until_process_ends(std::move(flag_));
}

std::unique_ptr<Event> CrossingQueue::make_event() const {
  if (marks_ == CrossingMarks::flags) return nullptr;
  return std::make_unique<Event>(stream_.context(), Event::Timing::disabled);
}

CrossingMark CrossingQueue::passed(const Event* event) const noexcept {
  return {event == nullptr ? word() : 0, event};
}

void CrossingQueue::begin(const Event* event) noexcept {
  begins_after_ = event;
  begun_at_ = last_ticket_;
}

void CrossingQueue::put_in_order() {
  const auto lock = lock_for_one_piece();
  begin_once();
}

CrossingMark CrossingQueue::cross(std::span<const LinkCopy> copies, const Event* event,
                                  const SlotCrossing* crossing) {
  const auto lock = lock_for_one_piece();
  begin_once();
  if (crossing != nullptr)
    crossing->enqueue(copies, stream_.handle());
  else
    enqueue(copies);
  return put(event);
}

/// One call for several copies: on an H200 the driver takes 1.4 us for each upload and 0.5 us for
/// each download then, rather than 2.6 and 1.9. Source: benchmarks/frontdoor/h200/copies.json.
void CrossingQueue::enqueue(std::span<const LinkCopy> copies) const {
  const Driver& driver = stream_.context().driver();
  if (copies.size() > 1 && driver.has(symbol::memcpy_batch_async))
    return CopyBatch(stream_.context(), copies).enqueue(stream_.handle());
  for (const LinkCopy& copy : copies) {
    if (copy.to_device)
      driver.call(symbol::memcpy_htod_async)(copy.device, static_cast<const void*>(copy.host),
                                             copy.size_bytes, stream_.handle());
    else
      driver.call(symbol::memcpy_dtoh_async)(static_cast<void*>(copy.host), copy.device,
                                             copy.size_bytes, stream_.handle());
  }
}

std::unique_lock<std::mutex> CrossingQueue::lock_for_one_piece() {
  std::unique_lock lock(enqueueing_, std::try_to_lock);
  // Other threads enqueue in some microseconds each; a sleep takes longer than all of them.
  for (int i = 0; !lock.owns_lock() && i < 512; ++i) {
    host::pause_briefly();
    (void)lock.try_lock();
  }
  if (!lock.owns_lock()) lock.lock();
  return lock;
}

/// Orders a copy's first piece behind what the caller had enqueued.
void CrossingQueue::begin_once() {
  if (begins_after_ == nullptr) return;
  if (!begins_after_->complete()) stream_.wait(*begins_after_);
  begins_after_ = nullptr;
}

CrossingMark CrossingQueue::put(const Event* event) {
  const std::uint32_t ticket = last_ticket_ + 1;
  if (event != nullptr) {
    event->record(stream_.handle());
  } else {
    // By default it is ordered behind the stream's earlier writes, for the host too.
    // Source: CUDA Driver API 13.0, CUstreamWriteValue_flags.
    stream_.context().driver().call(symbol::stream_write_value32)(
        stream_.handle(), flag_address_, ticket, unsigned{CU_STREAM_WRITE_VALUE_DEFAULT});
  }
  last_ticket_ = ticket;
  return {ticket, event};
}

std::uint32_t CrossingQueue::word() const noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(flag_->data()), __ATOMIC_ACQUIRE);
}

/// Tickets wrap around. One that is 2^31 pieces old looks like a future one; Wait then asks the
/// stream, which shows that it has crossed.
bool CrossingQueue::crossed(const CrossingMark& mark) const {
  if (mark.event != nullptr) return mark.event->complete();
  return static_cast<std::int32_t>(word() - mark.ticket) >= 0;
}

void CrossingQueue::join(CUstream stream) const {
  if (last_ticket_ == begun_at_) return;
  joined_.record(stream_.handle());
  if (joined_.complete()) return;
  stream_.context().driver().call(symbol::stream_wait_event)(stream, joined_.handle(), 0U);
}

bool CrossingQueue::stop() noexcept {
  const bool idle = becomes_idle(stream_.context().driver(), stream_.handle());
  if (!idle) usable_.store(false, std::memory_order_release);
  return idle;
}

bool CrossingQueue::Wait::over() {
  if (queue_.crossed(mark_)) return true;
  backoff_.pause();
  if (mark_.event != nullptr || ++num_pauses_ % kPausesPerClockRead != 0) return false;
  const auto now = Clock::now();
  if (num_pauses_ == kPausesPerClockRead) asks_at_ = now + kAskTime;
  if (now < asks_at_) return false;
  asks_at_ = now + kAskTime;
  // A failed stream writes nothing any more; an idle one has written everything.
  return queue_.stream_.idle();
}

}  // namespace isthmus::transfer
