// What all implementations share: ends of less than a line, and cutting a range into whole lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "host/memory/pages.hpp"
#include "window/copies/streaming_copy.hpp"

namespace isthmus::window {

/// What a core transfers to or from write-combined memory at once.
using host::kLineBytes;

inline std::size_t bytes_into_line(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % kLineBytes;
}

/// Copies one `Word` by one load and one store. Unaligned is allowed.
template <class Word>
inline void copy_word(std::byte* target, const std::byte* source) noexcept {
  Word word;
  std::memcpy(&word, source, sizeof word);
  std::memcpy(target, &word, sizeof word);
}

/// True if the range is a single aligned word, which is then written by one store: flags don't
/// tear.
template <class Word>
inline bool copy_aligned_word(std::byte* target, const std::byte* source,
                              std::size_t size_bytes) noexcept {
  using AnyWord [[gnu::may_alias]] = Word;
  if (size_bytes != sizeof(Word)) return false;
  if (reinterpret_cast<std::uintptr_t>(target) % sizeof(Word) != 0) return false;
  Word word;
  std::memcpy(&word, source, sizeof word);
  __atomic_store_n(reinterpret_cast<AnyWord*>(target), word, __ATOMIC_RELAXED);
  return true;
}

/// Copies at most one line with as few plain loads and stores as possible, only inside the range.
/// They may overlap; then the same bytes are written twice.
inline void copy_few(std::byte* target, const std::byte* source, std::size_t size_bytes) noexcept {
  struct Words {
    std::uint64_t low, high;
  };
  const auto copy_both_ends = [&]<class Word>(Word) {
    if (copy_aligned_word<Word>(target, source, size_bytes)) return;
    const std::size_t last = size_bytes - sizeof(Word);
    copy_word<Word>(target, source);
    copy_word<Word>(target + last, source + last);
  };
  if (size_bytes >= 16) {
    const std::size_t last = size_bytes - 16;
    copy_word<Words>(target, source);
    if (size_bytes > 32) {
      copy_word<Words>(target + 16, source + 16);
      copy_word<Words>(target + last - 16, source + last - 16);
    }
    if (last != 0) copy_word<Words>(target + last, source + last);
  } else if (size_bytes >= 8) {
    copy_both_ends(std::uint64_t{});
  } else if (size_bytes >= 4) {
    copy_both_ends(std::uint32_t{});
  } else if (size_bytes >= 2) {
    copy_both_ends(std::uint16_t{});
  } else if (size_bytes == 1) {
    *target = *source;
  }
}

/// Copies whole lines. The mapping's side is line-aligned; the other side need not be.
using CopyLines = void (*)(std::byte* target, const std::byte* source, std::size_t num_lines);

/// Writes a line or more.
template <CopyLines StoreLines>
[[gnu::noinline]] void write_with_lines(std::byte* target, const std::byte* source,
                                        std::size_t size_bytes) {
  if (const std::size_t into = bytes_into_line(target); into != 0) {
    const std::size_t head = kLineBytes - into;
    copy_few(target, source, head);
    target += head;
    source += head;
    size_bytes -= head;
  }
  const std::size_t tail = size_bytes % kLineBytes;
  const std::size_t body = size_bytes - tail;
  if (body != 0) StoreLines(target, source, body / kLineBytes);
  if (tail != 0) copy_few(target + body, source + body, tail);
}

/// StreamingCopy::write: `StoreLines` for whole lines, plain stores for the ends.
template <CopyLines StoreLines>
void write_range(void* target, const void* source, std::size_t size_bytes) {
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  // A separate function, so that a small write saves no registers.
  if (size_bytes >= kLineBytes) return write_with_lines<StoreLines>(to, from, size_bytes);
  copy_few(to, from, size_bytes);
}

/// Prevents the following loads from being answered by a line buffer of an earlier read, and from
/// passing earlier accesses.
void before_streaming_loads() noexcept;

/// StreamingCopy::read: `LoadLines` for whole lines. For an end, the whole line that contains it is
/// loaded: one narrow load would cost as much, and two would cost twice as much.
template <CopyLines LoadLines>
void read_range(void* target, const void* source, std::size_t size_bytes) {
  if (size_bytes == 0) return;
  auto* to = static_cast<std::byte*>(target);
  const auto* from = static_cast<const std::byte*>(source);
  alignas(kLineBytes) std::byte line[kLineBytes];
  before_streaming_loads();
  if (const std::size_t skipped = bytes_into_line(from); skipped != 0) {
    const std::size_t rest = kLineBytes - skipped;
    const std::size_t head = rest < size_bytes ? rest : size_bytes;
    LoadLines(line, from - skipped, 1);
    copy_few(to, line + skipped, head);
    to += head;
    from += head;
    size_bytes -= head;
  }
  const std::size_t tail = size_bytes % kLineBytes;
  const std::size_t body = size_bytes - tail;
  if (body != 0) LoadLines(to, from, body / kLineBytes);
  if (tail != 0) {
    LoadLines(line, from + body, 1);
    copy_few(to + body, line, tail);
  }
  load_fence();
}

}  // namespace isthmus::window
