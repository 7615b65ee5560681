// Fills device memory with the test pattern, and counts the bytes that differ from it.
//
// CPU reference: host/memory/pattern.cpp. Launch bounds: any grid. Each lane moves 8 bytes an iteration.
#include "page_order.cuh"
#include "pattern.cuh"

/// target      device, [size_bytes], 8-byte aligned
extern "C" __global__ void isthmus_pattern_fill(uint8_t* target, uint64_t size_bytes,
                                                uint64_t seed) {
  isthmus_note_write(target, size_bytes);
  const uint64_t num_words = size_bytes / 8;
  uint64_t* words = reinterpret_cast<uint64_t*>(target);
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes()) {
    words[i] = isthmus_pattern_word(seed, i);
  }
  if (isthmus_lane() != 0) return;
  const uint64_t last = isthmus_pattern_word(seed, num_words);
  for (uint64_t i = num_words * 8; i < size_bytes; ++i) target[i] = uint8_t(last >> (i % 8 * 8));
}

/// Those behind the last whole word, by one lane.
__device__ inline unsigned long long isthmus_count_wrong_at_end(const uint8_t* source,
                                                                uint64_t size_bytes,
                                                                uint64_t seed) {
  if (isthmus_lane() != 0) return 0;
  const uint64_t num_words = size_bytes / 8;
  const uint64_t last = isthmus_pattern_word(seed, num_words);
  unsigned long long wrong = 0;
  for (uint64_t i = num_words * 8; i < size_bytes; ++i)
    wrong += source[i] != uint8_t(last >> (i % 8 * 8));
  return wrong;
}

__device__ inline unsigned long long isthmus_count_wrong(const uint8_t* source, uint64_t size_bytes,
                                                         uint64_t seed) {
  isthmus_note_read(source, size_bytes);
  const uint64_t num_words = size_bytes / 8;
  const uint64_t* words = reinterpret_cast<const uint64_t*>(source);
  unsigned long long wrong = 0;
  for (uint64_t i = isthmus_lane(); i < num_words; i += isthmus_num_lanes()) {
    wrong += words[i] != isthmus_pattern_word(seed, i);
  }
  return wrong + isthmus_count_wrong_at_end(source, size_bytes, seed);
}

/// source           device, [size_bytes], 8-byte aligned
/// num_mismatches   device, [1]; words (of 8 bytes) and trailing bytes that differ are added to it
extern "C" __global__ void isthmus_pattern_check(const uint8_t* source, uint64_t size_bytes,
                                                 uint64_t seed,
                                                 unsigned long long* num_mismatches) {
  const unsigned long long wrong = isthmus_count_wrong(source, size_bytes, seed);
  if (wrong != 0) atomicAdd(num_mismatches, wrong);
}

/// Like isthmus_pattern_check, and records that it ran: without that, a check that never ran would
/// look like success.
///
/// verdict          device, [1]; adds ISTHMUS_PATTERN_CHECKED and the mismatches
extern "C" __global__ void isthmus_pattern_verify(const uint8_t* source, uint64_t size_bytes,
                                                  uint64_t seed, unsigned long long* verdict) {
  unsigned long long found = isthmus_count_wrong(source, size_bytes, seed);
  if (isthmus_lane() == 0) found += ISTHMUS_PATTERN_CHECKED;
  if (found != 0) atomicAdd(verdict, found);
}

/// Like isthmus_pattern_verify, but lanes go through the pages of 4 KiB in a random order, each page
/// once: word i of a read in order becomes word i % 512 of the page of turn i / 512.
///
/// Source of the order: page_order.cuh.
extern "C" __global__ void isthmus_pattern_verify_pages(const uint8_t* source, uint64_t size_bytes,
                                                        uint64_t seed,
                                                        unsigned long long* verdict) {
  constexpr uint64_t kPageWords = 4096 / 8;
  isthmus_note_read(source, size_bytes);
  const uint64_t num_words = size_bytes / 8;
  const uint64_t num_pages = (num_words + kPageWords - 1) / kPageWords;
  const uint64_t* words = reinterpret_cast<const uint64_t*>(source);
  unsigned long long found = isthmus_count_wrong_at_end(source, size_bytes, seed);
  if (isthmus_lane() == 0) found += ISTHMUS_PATTERN_CHECKED;
  // Without a whole word there is no page, and no turn.
  const IsthmusPageOrder order = isthmus_page_order(num_pages != 0 ? num_pages : 1);
  for (uint64_t i = isthmus_lane(); i < num_pages * kPageWords; i += isthmus_num_lanes()) {
    const uint64_t word = isthmus_page_of_turn(order, i / kPageWords) * kPageWords + i % kPageWords;
    // The last page may be cut short.
    if (word < num_words) found += words[word] != isthmus_pattern_word(seed, word);
  }
  if (found != 0) atomicAdd(verdict, found);
}
