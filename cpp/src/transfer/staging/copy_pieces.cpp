// How a staging ring cuts a copy into pieces, and how it fills them.
#include <algorithm>
#include <bit>
#include <limits>

#include "transfer/staging/worker_pool.hpp"

namespace isthmus::transfer {
namespace {

// The longest piece is at most this many times as long as an upload's last pieces. Those are copied
// while others cross, unless memory is slower than the link: then the link idles only for the last
// one.
constexpr std::size_t kMaxOverLast = 4;

}  // namespace

/// The device reads lines that are modified in the cores' own caches at less than half its speed: 4
/// MiB in 192 us rather than 85 on an H100. But storing past the caches costs memory one more
/// transfer per byte, and demoting needs more thread time. Of a long copy by few threads, slots don't
/// stay in the cores' own caches anyway. Source: tag explorations, benchmarks/transfer.
SlotFilling StagingRing::WorkerPool::upload_filling(std::size_t size_bytes,
                                                    int num_threads) const noexcept {
  using enum SlotStores;
  // Shorter copies aren't demoted: there the link waits for the threads to wake, and streaming is as
  // fast.
  // Fewer threads that demote fill slots more slowly than the link takes them.
  if (can_demote() && is_long(size_bytes) && num_threads >= 12) return {.first = demoted};
  return {streaming, settings.min_long_bytes, fetched};
}

/// The longest piece of a copy with this many pieces: a power of two, so that slots of one size
/// serve many copies.
std::size_t StagingRing::WorkerPool::piece_bytes(std::size_t size_bytes, int num_pieces,
                                                 std::size_t most) const noexcept {
  const std::size_t share = std::bit_ceil(size_bytes / static_cast<std::size_t>(num_pieces));
  return std::min(std::max(share, kMaxOverLast * settings.first_bytes), most);
}

/// Slots that are used again soon are still in the caches that cores share: filling others costs
/// memory two more transfers per byte. So uploads of 128 MiB or more take few slots, and others only
/// in place of those whose piece is late; other long ones do after a pause, when the caches may hold
/// other memory. Source: benchmarks/transfer/h100/ring_hot.json.
StagingRing::WorkerPool::UploadSlots StagingRing::WorkerPool::upload_slots(
    std::size_t size_bytes) const noexcept {
  // One is filled while another one crosses.
  const auto few = static_cast<std::size_t>(std::max(2, settings.num_slots));
  const auto valid = [&](std::size_t bytes) {
    return std::clamp(bytes, settings.first_bytes, settings.slot_bytes);
  };
  if (size_bytes >= 4 * settings.min_long_bytes) return {valid(settings.slot_bytes / 2), few};
  if (is_long(size_bytes) && !follows_) return {valid(settings.slot_bytes / 4), few};
  return {settings.slot_bytes, std::numeric_limits<std::size_t>::max()};
}

/// Pieces of long copies grow more slowly, since threads are slower there, most of all in uploads,
/// whose threads wake first. Source: benchmarks/transfer/h100/ring_growth.json.
PlanLimits StagingRing::WorkerPool::upload_limits(std::size_t size_bytes,
                                                  std::size_t longest_bytes) const noexcept {
  // At least four pieces, so that the link starts early.
  const std::size_t most = piece_bytes(size_bytes, 4, longest_bytes);
  const std::size_t line = std::min(host::kLineBytes, settings.first_bytes);
  return {settings.first_bytes,
          std::max(settings.first_bytes, most / kMaxOverLast),
          most,
          settings.min_part_bytes,
          settings.max_part_bytes,
          line,
          is_long(size_bytes) ? 1.35 : 2};
}

PlanLimits StagingRing::WorkerPool::download_limits(std::size_t size_bytes,
                                                    std::size_t grain_bytes) const noexcept {
  const std::size_t grain = grain_bytes <= settings.slot_bytes ? grain_bytes : 1;
  const std::size_t most =
      std::max(piece_bytes(size_bytes, settings.download_pieces, settings.slot_bytes), grain);
  const std::size_t last = std::max(settings.first_bytes, grain);
  // A download's first piece is longer than its last by this factor: the link doesn't wait for the
  // first.
  const std::size_t first = std::clamp(4 * settings.first_bytes, last, most);
  return {first,
          last,
          most,
          settings.min_part_bytes,
          settings.max_part_bytes,
          grain,
          is_long(size_bytes) ? 1.5 : 2};
}

/// Leaves each thread a slot to fill while half as many slots cross.
std::size_t StagingRing::WorkerPool::filler_bytes() const noexcept {
  const std::size_t num_wanted = (3 * static_cast<std::size_t>(max_threads) + 1) / 2;
  const std::size_t slot_bytes =
      StagingSlots::memory_bytes(settings.num_slots, settings.slot_bytes) / num_wanted;
  const std::size_t whole_pages = slot_bytes / host::kSmallPageBytes * host::kSmallPageBytes;
  const std::size_t most =
      std::max(whole_pages, host::kSmallPageBytes + kSlotSlackBytes) - kSlotSlackBytes;
  return std::min(settings.filler_bytes, most);
}

}  // namespace isthmus::transfer
