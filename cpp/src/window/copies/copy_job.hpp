// One copy that several threads share, cut into chunks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "host/cpu/spinning_worker.hpp"
#include "window/copies/streaming_lines.hpp"

namespace isthmus::window {

struct CopyTeam;

/// A copy in chunks of whole lines of the mapping, and one thread's share of it. Each of the first
/// `num_owned` chunks belongs to one thread that is awake. A thread that has finished its chunk, or
/// was woken for the copy, takes one of the others.
struct CopyJob {
  const StreamingCopy* copy = nullptr;
  std::byte* target = nullptr;
  const std::byte* source = nullptr;
  std::size_t size_bytes = 0;
  std::size_t chunk_bytes = 0;  ///< a multiple of kLineBytes
  CopyTeam* team = nullptr;
  std::uint16_t num_owned = 1;
  std::uint16_t number = 0;  ///< of this thread: 0 is the caller's; from num_owned on it was woken
  bool to_mapping = true;

  /// The bytes of the mapping's first line that lie before the copy.
  std::size_t skipped_bytes() const noexcept {
    return bytes_into_line(to_mapping ? target : source);
  }

  std::size_t num_lines() const noexcept {
    return (skipped_bytes() + size_bytes + kLineBytes - 1) / kLineBytes;
  }

  std::size_t num_chunks() const noexcept {
    return (skipped_bytes() + size_bytes + chunk_bytes - 1) / chunk_bytes;
  }

  /// chunk_index     < num_chunks()
  void copy_chunk(std::size_t chunk_index) const {
    const std::size_t skipped = skipped_bytes();
    const std::size_t begin = std::max(chunk_index * chunk_bytes, skipped) - skipped;
    const std::size_t end = std::min((chunk_index + 1) * chunk_bytes - skipped, size_bytes);
    const auto way = to_mapping ? copy->write : copy->read;
    way(target + begin, source + begin, end - begin);
  }

  bool has_own_chunk() const noexcept { return number < num_owned; }

  /// Copies this thread's share: its own chunk, then chunks without an owner until none is left.
  /// The caller fences.
  inline void copy_share() const;

  /// A worker's share, complete. One that was woken wakes others first.
  inline void operator()() const;

  /// Copies everything in the calling thread, complete.
  void copy_alone() const {
    if (!to_mapping) return copy->read(target, source, size_bytes);
    copy->write(target, source, size_bytes);
    store_fence();
  }
};

/// A worker that takes jobs of copies.
using CopyWorker = host::SpinningWorker<CopyJob>;
// A job and the count of posts fill one cache line.
static_assert(sizeof(CopyJob) + sizeof(std::uint64_t) <= kLineBytes);

/// What the threads of one copy share.
struct CopyTeam {
  static constexpr std::size_t kMaxHelpers = 63;
  /// How many others each thread wakes.
  static constexpr std::size_t kFanOut = 2;

  alignas(host::kApartBytes) std::atomic<std::size_t> next_chunk{0};  ///< without an owner
  /// The caller is number 0, and helper i number i + 1: those that are awake first.
  alignas(host::kApartBytes) std::array<CopyWorker*, kMaxHelpers> helpers{};
  std::size_t num_helpers = 0;
  std::size_t num_awake = 0;

  /// Helpers, without the one at `end`.
  struct Range {
    std::size_t begin = 0, end = 0;
  };
  /// The sleepers that a thread has to wake: two each, so that waking many takes nobody long.
  ///
  /// place       0: the caller; n: the n-th sleeper
  Range woken_by(std::size_t place) const noexcept {
    const std::size_t begin = std::min(num_awake + place * kFanOut, num_helpers);
    return {begin, std::min(begin + kFanOut, num_helpers)};
  }
  void wake_next(std::size_t place) const noexcept {
    const Range woken = woken_by(place);
    for (std::size_t i = woken.begin; i < woken.end; ++i) helpers[i]->wake();
  }
};

void CopyJob::copy_share() const {
  if (has_own_chunk()) copy_chunk(number);
  const std::size_t end = num_chunks();
  // Most copies have no chunks without an owner, and needn't load the counter's cache line.
  if (end <= std::size_t{num_owned}) return;
  for (;;) {
    const std::size_t chunk_index = team->next_chunk.fetch_add(1, std::memory_order_relaxed);
    if (chunk_index >= end) return;
    copy_chunk(chunk_index);
  }
}

void CopyJob::operator()() const {
  // Those that are awake needn't load the counter's cache line.
  const bool wakes =
      !has_own_chunk() && team->next_chunk.load(std::memory_order_relaxed) < num_chunks();
  if (wakes) team->wake_next(number - num_owned + 1U);
  copy_share();
  if (to_mapping) store_fence();
}

}  // namespace isthmus::window
