#include "machine/link.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <thread>

#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

constexpr std::size_t kPassingBytes = 4096;

}  // namespace

Time SharedLink::cross(std::size_t size_bytes, Time start) {
  const Duration duration = pinned_pace().time_for(size_bytes);
  Time free_at = free_at_.load(std::memory_order_relaxed);
  Time end;
  do {
    end = std::max(free_at, start) + duration;
  } while (!free_at_.compare_exchange_weak(free_at, end, std::memory_order_relaxed));
  return size_bytes <= kPassingBytes ? start + duration : end;
}

namespace {

/// Bytes moved between two reads of the clock.
constexpr std::size_t kPieceBytes = 1024UL * 1024;
/// A transfer that is this far ahead of its model pauses, so that its bytes arrive spread over its
/// time.
constexpr Duration kMaxLead = std::chrono::milliseconds(1);

/// The last bytes of a copy may be polled while they arrive: a flag in the last word tells of all before it.
constexpr std::size_t kPolledBytes = 4096;

template <typename Word>
bool is_aligned(const std::byte* target, const std::byte* source) {
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(target) | reinterpret_cast<std::uintptr_t>(source);
  return addresses % sizeof(Word) == 0;
}

template <typename Word>
bool copy_word(std::byte* target, const std::byte* source, std::size_t size_bytes) {
  if (size_bytes != sizeof(Word) || !is_aligned<Word>(target, source)) return false;
  const Word word = __atomic_load_n(reinterpret_cast<const Word*>(source), __ATOMIC_ACQUIRE);
  __atomic_store_n(reinterpret_cast<Word*>(target), word, __ATOMIC_RELEASE);
  return true;
}

/// Copies all whole words in order, so that a reader that sees the last word sees all. Excluded
/// from the thread sanitizer: a thread that polls an engine's target races with it by design.
template <typename Word>
__attribute__((no_sanitize("thread"))) std::size_t copy_polled(std::byte* target,
                                                               const std::byte* source,
                                                               std::size_t size_bytes) {
  if (!is_aligned<Word>(target, source)) return 0;
  const std::size_t num_words = size_bytes / sizeof(Word);
  auto* to = reinterpret_cast<Word*>(target);
  const auto* from = reinterpret_cast<const Word*>(source);
  for (std::size_t index = 0; index < num_words; ++index) {
    __atomic_store_n(to + index, __atomic_load_n(from + index, __ATOMIC_RELAXED), __ATOMIC_RELEASE);
  }
  return num_words * sizeof(Word);
}

/// `handle_piece(offset, piece_bytes)` does part of the work.
template <typename HandlePiece>
Time take_time(std::size_t size_bytes, const Pace& pace, Time start, HandlePiece handle_piece) {
  const Time first_byte = start + pace.latency;
  wait_until(first_byte);
  Duration really_spent{kNoTime};
  Time due = first_byte;
  for (std::size_t offset = 0; offset < size_bytes;) {
    const std::size_t piece_bytes = std::min(kPieceBytes, size_bytes - offset);
    const Time before = Clock::now();
    handle_piece(offset, piece_bytes);
    offset += piece_bytes;
    const Time after = Clock::now();
    really_spent += after - before;
    const Time arrived = pace.link != nullptr ? pace.link->cross(piece_bytes, due) : due;
    due = std::max(due + pace.time_for(piece_bytes), arrived);
    if (offset < size_bytes && due - after > kMaxLead) std::this_thread::sleep_until(due);
  }
  const Time end = std::max(due, first_byte + really_spent);
  wait_until(end);
  return end;
}

}  // namespace

Duration Pace::time_for(std::size_t size_bytes) const {
  const std::chrono::duration<double> seconds(static_cast<double>(size_bytes) / bytes_per_s);
  return std::chrono::duration_cast<Duration>(seconds);
}

void copy_now(std::byte* target, const std::byte* source, std::size_t size_bytes) {
  if (copy_word<std::uint32_t>(target, source, size_bytes)) return;
  if (copy_word<std::uint64_t>(target, source, size_bytes)) return;
  std::size_t done = 0;
  if (size_bytes > kPolledBytes) {
    done = (size_bytes - kPolledBytes) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
    std::memcpy(target, source, done);
  }
  done += copy_polled<std::uint64_t>(target + done, source + done, size_bytes - done);
  done += copy_polled<std::uint32_t>(target + done, source + done, size_bytes - done);
  copy_polled<std::uint8_t>(target + done, source + done, size_bytes - done);
}

Time move_bytes(std::byte* target, const std::byte* source, std::size_t size_bytes,
                const Pace& pace, Time start) {
  return take_time(size_bytes, pace, start, [&](std::size_t offset, std::size_t piece_bytes) {
    copy_now(target + offset, source + offset, piece_bytes);
  });
}

Time fill_bytes(std::byte* target, unsigned pattern, std::size_t pattern_bytes,
                std::size_t size_bytes, const Pace& pace, Time start) {
  return take_time(size_bytes, pace, start, [&](std::size_t offset, std::size_t piece_bytes) {
    if (pattern_bytes == 1) {
      std::memset(target + offset, static_cast<int>(pattern), piece_bytes);
    } else {
      std::fill_n(reinterpret_cast<std::uint32_t*>(target + offset), piece_bytes / pattern_bytes,
                  pattern);
    }
  });
}

}  // namespace isthmus::emulator
