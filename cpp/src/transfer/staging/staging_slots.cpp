#include "transfer/staging/staging_slots.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <utility>

#include "device/capture.hpp"
#include "host/cpu/backoff.hpp"
#include "host/cpu/clock.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::transfer {
namespace {

/// How a job's threads wait for the link. Sleeps are as short as the kernel's timers have them.
host::SpinLimits limits_of(const StagingJob& job) noexcept {
  if (!job.sleeps) return {};
  return {.yield_time = std::chrono::steady_clock::duration::zero(),
          .sleep_time = std::chrono::microseconds{1}};
}

/// The distance between slots for pieces of up to `piece_bytes`, wherever they begin.
std::size_t stride_for(std::size_t piece_bytes) noexcept {
  return host::round_up(piece_bytes + kSlotSlackBytes, host::kSmallPageBytes);
}

/// Fills a part's place in the slot of its piece.
void fill(const StagingJob& job, const StagingJob::Part& part, std::byte* slot) {
  const Piece& piece = job.bytes_of(part.piece);
  job.ranges().each_in(part.bytes, [&](const Fragment& fragment) {
    fragment.range->source->fill(slot + StagedRanges::place_of(fragment, piece),
                                 fragment.offset_bytes, fragment.size_bytes);
  });
}

void make_pages(const StagingJob& job, const StagingJob::Part& part) {
  job.ranges().each_in(part.bytes, [](const Fragment& fragment) {
    fragment.range->target->make_pages({fragment.offset_bytes, fragment.size_bytes});
  });
}

/// Empties a part's place in the slot of its piece.
void store(const StagingJob& job, const StagingJob::Part& part, const std::byte* slot) {
  const Piece& piece = job.bytes_of(part.piece);
  job.ranges().each_in(part.bytes, [&](const Fragment& fragment) {
    fragment.range->target->store({fragment.offset_bytes, fragment.size_bytes},
                                  slot + StagedRanges::place_of(fragment, piece));
  });
}

/// What crosses between the device and a slot.
std::vector<LinkCopy> copies_of(const StagingJob& job, std::size_t piece, std::byte* slot) {
  std::vector<LinkCopy> copies;
  job.ranges().each_in(job.bytes_of(piece), [&](const Fragment& fragment) {
    copies.push_back({slot + StagedRanges::place_of(fragment, job.bytes_of(piece)),
                      fragment.device(), fragment.size_bytes, !job.downloads()});
  });
  return copies;
}

/// Records how long its scope took, if somebody asks for it.
class EnqueueNote {
public:
  explicit EnqueueNote(CopyMoments* moments) noexcept
      : moments_(moments), begun_ns_(moments == nullptr ? 0 : host::steady_ns()) {}
  ~EnqueueNote() {
    if (moments_ != nullptr) moments_->note_enqueued(begun_ns_, host::steady_ns());
  }
  EnqueueNote(const EnqueueNote&) = delete;
  EnqueueNote& operator=(const EnqueueNote&) = delete;

private:
  CopyMoments* moments_;
  std::int64_t begun_ns_;
};

}  // namespace

std::size_t StagingSlots::memory_bytes(int num_slots, std::size_t slot_bytes) noexcept {
  return static_cast<std::size_t>(num_slots) * stride_for(slot_bytes);
}

StagingSlots::StagingSlots(const Context& context, CrossingMarks marks, int num_slots,
                           std::size_t slot_bytes)
    : context_(context),
      memory_(context, memory_bytes(num_slots, slot_bytes)),
      memory_bytes_(memory_bytes(num_slots, slot_bytes)),
      queue_(context, marks) {
  arrange(slot_bytes);
}

StagingSlots::~StagingSlots() {
  if (!context_.in_own_process()) return;
  bool idle = false;
  try {
    const CurrentContext current(context_);
    const ScopedRelaxedCapture relaxed(context_.driver());
    idle = stop();
  } catch (...) {  // NOLINT(bugprone-empty-catch): nobody knows what is under way
  }
  // The device may still write there: the memory must not be reused.
  if (!idle) memory_.leave();
}

/// Divides the memory into slots for pieces of up to `piece_bytes`.
void StagingSlots::arrange(std::size_t piece_bytes) {
  if (fits(piece_bytes)) return;
  const std::size_t stride_bytes = stride_for(piece_bytes);
  // Staged copies may wait for other work in their stream; this job need not wait for them.
  if (stride_bytes < stride_bytes_ && is_under_way()) return;
  await_all();
  std::vector<Slot> slots(memory_bytes_ / stride_bytes);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].data = memory_.data() + i * stride_bytes;
    slots[i].event = queue_.make_event();
  }
  sequence_.reserve(slots.size());
  slots_ = std::move(slots);
  stride_bytes_ = stride_bytes;
  sort_slots();
}

bool StagingSlots::fits(std::size_t piece_bytes) const noexcept {
  return stride_for(piece_bytes) == stride_bytes_;
}

/// The slots by place, which may still be in the caches; but those that are under way last, in the
/// order in which they cross.
void StagingSlots::sort_slots() {
  sequence_.resize(slots_.size());
  std::iota(sequence_.begin(), sequence_.end(), 0U);
  std::ranges::stable_sort(sequence_, [this](std::uint32_t left, std::uint32_t right) {
    const Slot& one = slots_[left];
    const Slot& other = slots_[right];
    if (!one.under_way || !other.under_way) return !one.under_way && other.under_way;
    // Tickets wrap around.
    return static_cast<std::int32_t>(one.crossed.ticket - other.crossed.ticket) < 0;
  });
}

void StagingSlots::begin(StagingJob& job, std::size_t piece_bytes, const Event* event) {
  try {
    arrange(piece_bytes);
  } catch (...) {
    stop();
    throw;
  }
  queue_.begin(event);
  if (job.downloads()) return;
  num_given_ = std::min(job.num_slots, sequence_.size());
  for (const std::uint32_t slot : std::span(sequence_).first(num_given_)) give(job, slot);
}

/// Gives a slot to the next piece of an upload without one.
void StagingSlots::give(StagingJob& job, std::uint32_t slot) const noexcept {
  const Slot& given = slots_[slot];
  const CrossingMark free = given.under_way ? given.crossed : queue_.passed(given.event.get());
  job.give(job.claim(), {slot, free.ticket});
}

void StagingSlots::fetch_first(StagingJob& job) noexcept {
  fetch_into(job, std::span(sequence_).first(1));
}

void StagingSlots::put_in_order(StagingJob& job) noexcept {
  try {
    queue_.put_in_order();
  } catch (...) {
    job.fail();
  }
}

void StagingSlots::fetch_more(StagingJob& job) noexcept {
  fetch_into(job, std::span(sequence_).subspan(1));
}

void StagingSlots::fetch_into(StagingJob& job, std::span<const std::uint32_t> slots) noexcept {
  if (!job.downloads()) return;
  try {
    for (const std::uint32_t slot : slots) {
      const std::size_t piece = job.claim();
      if (piece >= job.num_pieces() || job.failed()) return;
      fetch(job, piece, slot);
    }
  } catch (...) {
    job.fail();
  }
}

void StagingSlots::work(StagingJob& job) noexcept {
  if (job.moments != nullptr && !job.done()) job.moments->note_begun(host::steady_ns());
  try {
    const CurrentContext current(context_);
    const ScopedRelaxedCapture relaxed(context_.driver());
    job.downloads() ? download(job) : upload(job);
  } catch (...) {
    job.fail_unless_closed();
  }
}

void StagingSlots::upload(StagingJob& job) {
  for (auto placed = take_ready(job, 0); placed; placed = take_ready(job, placed->part.piece)) {
    const StagingJob::Part& part = placed->part;
    std::byte* const slot = slots_[placed->slot].data;
    if (job.filler != nullptr) {
      const auto& [begin, size_bytes] = part.bytes;
      const std::size_t lead = job.filler->fill(slot, begin, size_bytes);
      const CUdeviceptr target = job.ranges().all().front().device + begin;
      job.full_pieces().add(
          {part.piece, placed->slot, {LinkCopy{slot + lead, target, size_bytes, true}}});
    } else {
      fill(job, part, slot);
      if (!job.finish_part(part.piece)) continue;
      job.full_pieces().add({part.piece, placed->slot, copies_of(job, part.piece, slot)});
    }
    send_full(job);
  }
}

/// Sends what is full, unless another thread is about to.
void StagingSlots::send_full(StagingJob& job) {
  FullPieces& pieces = job.full_pieces();
  while (!pieces.empty()) {
    const std::unique_lock sender(pieces, std::try_to_lock);
    if (!sender.owns_lock()) return;
    while (const auto full = pieces.take()) send(job, *full);
  }
}

void StagingSlots::download(StagingJob& job) {
  const auto next = [&](std::size_t piece) {
    return job.makes_pages ? take_with_pages(job, piece) : take_ready(job, piece);
  };
  for (auto placed = next(0); placed; placed = next(placed->part.piece)) {
    store(job, placed->part, slots_[placed->slot].data);
    if (!job.finish_part(placed->part.piece)) continue;
    fetch_into(job, std::array{placed->slot});
    job.note_done();
  }
}

/// Sends a piece, and gives its slot to the next piece without one. A piece that is late keeps its
/// own, so another one takes the place of that.
void StagingSlots::send(StagingJob& job, const FullPiece& full) {
  const TicketedSlot slot = cross(job, full.slot, full.copies);
  // First the spare ones: nobody waits for those.
  for (std::size_t num_late = job.num_newly_late(full.piece);
       num_late > 0 && num_given_ < sequence_.size(); --num_late)
    give(job, sequence_[num_given_++]);
  const std::size_t next = job.claim();
  job.note_enqueued(full.piece, next);
  job.give(next, slot);
  job.note_done();
}

void StagingSlots::fetch(StagingJob& job, std::size_t piece, std::uint32_t slot) {
  job.give(piece, cross(job, slot, copies_of(job, piece, slots_[slot].data)));
}

TicketedSlot StagingSlots::cross(StagingJob& job, std::uint32_t slot,
                                 std::span<const LinkCopy> copies) {
  const EnqueueNote note(job.moments);
  Slot& used = slots_[slot];
  used.under_way = true;
  used.crossed = queue_.cross(copies, used.event.get(), job.ranges().crossing());
  return {slot, used.crossed.ticket};
}

/// Waits until the next part can be copied, and takes it. Until then other threads may take it.
///
/// piece       of the thread's previous part; 0 at first
std::optional<StagingSlots::Placed> StagingSlots::take_ready(StagingJob& job,
                                                             std::size_t piece) const {
  while (const auto next = job.next_piece(piece)) {
    piece = *next;
    const auto slot = await_slot(job, piece, [&] { return job.is_next(piece); });
    if (!slot) continue;
    if (const auto part = job.take_of(piece)) return Placed{*part, *slot};
  }
  return std::nullopt;
}

/// The same for a target without pages: takes the next part, makes its pages, and waits until it can
/// be copied.
std::optional<StagingSlots::Placed> StagingSlots::take_with_pages(StagingJob& job,
                                                                  std::size_t piece) const {
  while (const auto next = job.next_piece(piece)) {
    piece = *next;
    const auto part = job.take_of(piece);
    if (!part) continue;
    make_pages(job, *part);
    const auto slot = await_slot(job, piece, [&] { return !job.failed(); });
    if (slot) return Placed{*part, *slot};
  }
  return std::nullopt;
}

/// Waits until threads may use a piece's slot. Returns nothing if it goes on no longer.
template <typename GoesOn>
std::optional<std::uint32_t> StagingSlots::await_slot(const StagingJob& job, std::size_t piece,
                                                      GoesOn goes_on) const {
  auto slot = job.slot_of(piece);
  for (host::Backoff backoff(limits_of(job)); !slot; slot = job.slot_of(piece)) {
    if (!goes_on()) return std::nullopt;
    backoff.pause();
  }
  const CrossingMark free{slot->ticket, slots_[slot->index].event.get()};
  for (CrossingQueue::Wait wait(queue_, free, limits_of(job)); !wait.over();) {
    if (!goes_on()) return std::nullopt;
  }
  return slot->index;
}

bool StagingSlots::is_under_way() const {
  return std::ranges::any_of(
      slots_, [this](const Slot& slot) { return slot.under_way && !queue_.crossed(slot.crossed); });
}

void StagingSlots::await_all() {
  for (Slot& slot : slots_) {
    if (!slot.under_way) continue;
    for (CrossingQueue::Wait wait(queue_, slot.crossed); !wait.over();) {
    }
    slot.under_way = false;
  }
}

void StagingSlots::finish(StagingJob& job) noexcept {
  try {
    if (job.completes && !job.failed()) await_all();
  } catch (...) {
    job.fail();
  }
  if (job.failed()) settle(job);
  sort_slots();
}

void StagingSlots::leave_under_way(StagingJob& job, CUstream stream) noexcept {
  if (job.failed()) return;
  try {
    queue_.join(stream);
  } catch (...) {
    if (stop()) return;
    job.fail();
    job.note_undefined(false);
    job.note_in_use();
  }
}

/// Waits for what a failed job has left running, and finds out which bytes have arrived.
void StagingSlots::settle(StagingJob& job) noexcept {
  const bool stopped = stop();
  job.note_undefined(stopped);
  // Running pieces of a download are written to the slots, which are kept.
  if (!stopped && !job.downloads()) job.note_in_use();
}

/// Waits for the queue. Returns false if the driver can't.
bool StagingSlots::stop() noexcept {
  if (!queue_.stop()) return false;
  for (Slot& slot : slots_) slot.under_way = false;
  return true;
}

}  // namespace isthmus::transfer
