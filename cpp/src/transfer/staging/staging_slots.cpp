#include "transfer/staging/staging_slots.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "device/capture.hpp"
#include "host/cpu/clock.hpp"
#include "host/cpu/patience.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kPageBytes = 4096;

constexpr host::SpinLimits kYielding;
// Sleeps are as short as the kernel's timers have them.
constexpr host::SpinLimits kSleeping{.yield_time = std::chrono::steady_clock::duration::zero(),
                                     .sleep_time = std::chrono::microseconds{1}};

/// How a job's threads wait for the link.
const host::SpinLimits& limits_of(const StagingJob& job) noexcept {
  return job.sleeps ? kSleeping : kYielding;
}

/// The distance between slots for pieces of up to `piece_bytes`, wherever they begin.
std::size_t stride_for(std::size_t piece_bytes) noexcept {
  return (piece_bytes + kSlotSlackBytes + kPageBytes - 1) / kPageBytes * kPageBytes;
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
  bool at_rest = false;
  try {
    const CurrentContext current(context_);
    const ScopedRelaxedCapture relaxed(context_.driver());
    at_rest = stop();
  } catch (...) {  // NOLINT(bugprone-empty-catch): nobody knows what is under way
  }
  // The device may still write there: the memory must not be reused.
  if (!at_rest) memory_.leave();
}

/// Divides the memory into slots for pieces of up to `piece_bytes`.
void StagingSlots::arrange(std::size_t piece_bytes) {
  const std::size_t stride_bytes = stride_for(piece_bytes);
  if (stride_bytes == stride_bytes_) return;
  // Staged copies may wait for other work in their stream; this job need not wait for them.
  if (stride_bytes < stride_bytes_ && is_under_way()) return;
  await_all();
  std::vector<Slot> slots(memory_bytes_ / stride_bytes);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].data = memory_.data() + i * stride_bytes;
    slots[i].crossed = queue_.make_mark();
  }
  slots_ = std::move(slots);
  stride_bytes_ = stride_bytes;
  first_ = 0;
}

void StagingSlots::begin(std::size_t piece_bytes, const Event* event) {
  try {
    arrange(piece_bytes);
  } catch (...) {
    stop();
    throw;
  }
  queue_.begin(event);
}

void StagingSlots::fetch_first(StagingJob& job) noexcept { fetch_all(job, 0, 1); }

void StagingSlots::put_in_order(StagingJob& job) noexcept {
  try {
    queue_.put_in_order();
  } catch (...) {
    job.fail();
  }
}

void StagingSlots::fetch_more(StagingJob& job) noexcept {
  fetch_all(job, 1, std::min(job.num_pieces(), slots_.size()));
}

void StagingSlots::fetch_all(StagingJob& job, std::size_t begin, std::size_t end) noexcept {
  if (!job.downloads()) return;
  try {
    for (std::size_t piece = begin; piece < end && !job.failed(); ++piece) fetch(job, piece);
  } catch (...) {
    job.fail();
  }
}

void StagingSlots::work(StagingJob& job) noexcept {
  if (job.moments != nullptr) job.moments->note_begun(host::steady_ns());
  try {
    const CurrentContext current(context_);
    const ScopedRelaxedCapture relaxed(context_.driver());
    job.downloads() ? download(job) : upload(job);
  } catch (...) {
    job.fail();
  }
}

void StagingSlots::upload(StagingJob& job) {
  for (auto part = job.take(0); part; part = job.take(part->piece)) {
    if (!await_free_slot(job, part->piece)) return;
    std::byte* const slot = slot_of(part->piece).data;
    if (job.filler != nullptr) {
      const auto& [begin, size_bytes] = part->bytes;
      const std::size_t lead = job.filler->fill(slot, begin, size_bytes);
      const CUdeviceptr target = job.ranges().all().front().device + begin;
      cross(job, part->piece, std::array{LinkCopy{slot + lead, target, size_bytes, true}});
      continue;
    }
    fill(job, *part, slot);
    if (job.finish_part(part->piece)) cross(job, part->piece, copies_of(job, part->piece, slot));
  }
}

void StagingSlots::download(StagingJob& job) {
  for (auto part = job.take(0); part; part = job.take(part->piece)) {
    const std::size_t piece = part->piece;
    make_pages(job, *part);
    if (!await_enqueued(job, piece) || !await_crossed(job, slot_of(piece))) return;
    store(job, *part, slot_of(piece).data);
    const std::size_t next_in_slot = piece + slots_.size();
    if (job.finish_part(piece) && next_in_slot < job.num_pieces()) fetch(job, next_in_slot);
  }
}

void StagingSlots::fetch(StagingJob& job, std::size_t piece) {
  cross(job, piece, copies_of(job, piece, slot_of(piece).data));
}

void StagingSlots::cross(StagingJob& job, std::size_t piece, std::span<const LinkCopy> copies) {
  const EnqueueNote note(job.moments);
  Slot& slot = slot_of(piece);
  slot.under_way = true;
  queue_.cross(copies, slot.crossed, job.ranges().crossing());
  job.note_enqueued(piece);
}

/// Returns false if the job fails before.
bool StagingSlots::await_free_slot(const StagingJob& job, std::size_t piece) {
  // The first pieces' slots may still be in use by the previous job.
  if (piece < slots_.size()) return await_crossed(job, slot_of(piece));
  return await_enqueued(job, piece - slots_.size()) && await_crossed(job, slot_of(piece));
}

bool StagingSlots::await_enqueued(const StagingJob& job, std::size_t piece) const {
  for (host::Patience patience(limits_of(job)); !job.enqueued(piece); patience.pause()) {
    if (job.failed()) return false;
  }
  return true;
}

bool StagingSlots::await_crossed(const StagingJob& job, const Slot& slot) const {
  if (!slot.under_way) return true;
  for (CrossingQueue::Wait wait(queue_, slot.crossed, limits_of(job)); !wait.over();) {
    if (job.failed()) return false;
  }
  return true;
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
  // Reuse free slots at once: they may still be in the caches.
  first_ = job.completes ? 0 : (first_ + job.num_pieces()) % slots_.size();
}

void StagingSlots::leave_under_way(StagingJob& job, CUstream stream) noexcept {
  if (job.failed()) return;
  try {
    queue_.join(stream);
  } catch (...) {
    if (stop()) return;
    job.fail();
    job.note_undefined(slots_.size());
    job.note_in_use();
  }
}

/// Waits for what a failed job has left running, and finds out which bytes have arrived.
void StagingSlots::settle(StagingJob& job) noexcept {
  const bool stopped = stop();
  job.note_undefined(stopped ? 0 : slots_.size());
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
