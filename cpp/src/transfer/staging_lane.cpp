#include "transfer/staging_lane.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "device/capture.hpp"
#include "host/clock.hpp"
#include "transfer/memory_source.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kPageBytes = 4096;

/// Notes how long its scope took, if somebody wants to know.
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

std::size_t StagingLane::slot_bytes(std::size_t chunk_bytes) noexcept {
  return (chunk_bytes + kSlotSlackBytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

StagingLane::StagingLane(const Context& context, std::shared_ptr<CrossingQueue> queue,
                         SlotMemory memory, int num_slots, std::size_t chunk_bytes)
    : context_(context), memory_(std::move(memory)), queue_(std::move(queue)) {
  slots_.reserve(static_cast<std::size_t>(num_slots));
  for (std::size_t index = 0; index < static_cast<std::size_t>(num_slots); ++index) {
    slots_.push_back(
        {memory_.data() + index * slot_bytes(chunk_bytes), queue_->make_mark(), false, Piece{}});
  }
}

StagingLane::~StagingLane() {
  if (!context_.in_own_process()) return;
  try {
    const CurrentContext current(context_);
    const ScopedRelaxedCapture relaxed(context_.driver());
    stop();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the context is gone, and so are its copies
  }
}

void StagingLane::work(StagingJob& job) noexcept {
  try {
    const CurrentContext current(context_);
    const ScopedRelaxedCapture relaxed(context_.driver());
    for (Slot& slot : slots_) slot.piece = {};
    try {
      job.target == nullptr ? upload(job) : download(job);
    } catch (...) {
      job.fail();
    }
    if (job.failed()) settle(job);
  } catch (...) {
    job.fail();
  }
}

void StagingLane::upload(StagingJob& job) {
  // A slot first, so that no thread keeps a piece to itself that another has a slot for.
  while (Slot* const slot = free_slot(job)) {
    const auto piece = job.take();
    if (!piece) break;
    next_slot();
    slot->piece = *piece;
    const std::size_t lead = job.source->fill(slot->data, piece->begin, piece->size_bytes);
    send(job, *slot, lead);
  }
  if (job.completes) finish();
}

/// Waits until the next slot's bytes have crossed; null if no piece is left for it by then.
StagingLane::Slot* StagingLane::free_slot(const StagingJob& job) {
  Slot& slot = slots_[next_];
  for (CrossingQueue::Wait wait(*queue_, slot.crossed); slot.under_way && !wait.over();) {
    if (!job.has_more()) return nullptr;
  }
  slot.under_way = false;
  return &slot;
}

void StagingLane::download(StagingJob& job) {
  std::size_t num_under_way = 0;
  const auto oldest = [&]() -> Slot& {
    return slots_[(next_ + slots_.size() - num_under_way) % slots_.size()];
  };
  for (;;) {
    const auto most = static_cast<std::size_t>(job.most_under_way(static_cast<int>(slots_.size())));
    for (; num_under_way >= most; --num_under_way) deliver(job, oldest());
    const auto piece = job.take();
    if (!piece) break;
    fetch(job, next_slot(), *piece);
    ++num_under_way;
    job.target->make_pages(*piece);
  }
  for (; num_under_way > 0 && !job.failed(); --num_under_way) deliver(job, oldest());
}

StagingLane::Slot& StagingLane::next_slot() noexcept {
  Slot& slot = slots_[next_];
  next_ = (next_ + 1) % slots_.size();
  return slot;
}

void StagingLane::send(const StagingJob& job, Slot& slot, std::size_t lead) {
  const EnqueueNote note(job.moments);
  queue_->send(job.device_address_of(slot.piece), slot.data + lead, slot.piece.size_bytes,
               slot.crossed);
  mark_sent(slot);
}

void StagingLane::fetch(const StagingJob& job, Slot& slot, const Piece& piece) {
  const EnqueueNote note(job.moments);
  slot.piece = piece;
  const CUdeviceptr source = job.device_address_of(piece);
  queue_->fetch(slot.data + source % kSlotAlignmentBytes, source, piece.size_bytes, slot.crossed);
  mark_sent(slot);
}

void StagingLane::deliver(const StagingJob& job, Slot& slot) {
  await(slot);
  const CUdeviceptr source = job.device_address_of(slot.piece);
  job.target->store(slot.piece, slot.data + source % kSlotAlignmentBytes);
  slot.piece = {};
}

void StagingLane::mark_sent(Slot& slot) noexcept {
  slot.under_way = true;
  last_ = &slot;
}

void StagingLane::await(Slot& slot) const {
  if (!slot.under_way) return;
  for (CrossingQueue::Wait wait(*queue_, slot.crossed); !wait.over();) {
  }
  slot.under_way = false;
}

/// Waits for what is under way.
void StagingLane::finish() {
  if (last_ == nullptr) return;
  await(*last_);
  for (Slot& slot : slots_) {
    slot.under_way = false;
    slot.piece = {};
  }
}

bool StagingLane::settle(StagingJob& job) noexcept {
  // What an upload has sent arrives; what a download has fetched isn't delivered.
  const bool arrives = job.target == nullptr;
  const auto note = [&](const Slot& slot) {
    if (slot.piece.size_bytes != 0) job.note_undefined(slot.piece.begin);
  };
  for (const Slot& slot : slots_) {
    if (!arrives || !slot.under_way) note(slot);
  }
  if (stop()) return true;
  std::for_each(slots_.begin(), slots_.end(), note);
  return false;
}

/// Waits for the queue. Returns false if the driver won't.
bool StagingLane::stop() noexcept {
  if (!queue_->stop()) return false;
  for (Slot& slot : slots_) slot.under_way = false;
  return true;
}

}  // namespace isthmus::transfer
