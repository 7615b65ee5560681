// One bit for each unit of a page.
#pragma once

#include <bit>
#include <cstdint>

namespace isthmus::pages {

inline std::uint32_t num_ones(std::uint64_t word) {
  return static_cast<std::uint32_t>(std::popcount(word));
}

/// The number of zeros below the lowest one; `word` isn't 0.
inline std::uint32_t lowest_one(std::uint64_t word) {
  return static_cast<std::uint32_t>(std::countr_zero(word));
}

inline constexpr std::uint32_t kWordBits = 64;

/// Bits [first, end) of word `index` of a bitmap, as a mask.
constexpr std::uint64_t word_mask(std::uint32_t index, std::uint32_t first, std::uint32_t end) {
  const std::uint32_t base = index * kWordBits;
  std::uint64_t mask = ~std::uint64_t{0};
  if (first > base) mask &= first - base >= kWordBits ? 0 : mask << (first - base);
  if (end <= base) return 0;
  if (end - base < kWordBits) mask &= (std::uint64_t{1} << (end - base)) - 1;
  return mask;
}

/// Calls run(first, end) for each run of ones among bits [first, end), in order.
///
/// word        word(i) is word i of the bitmap
template <class Word, class Run>
void for_each_run(std::uint32_t first, std::uint32_t end, Word word, Run run) {
  bool open = false;
  std::uint32_t begin = 0;
  std::uint32_t index = first / kWordBits;
  for (; index * kWordBits < end; ++index) {
    const std::uint64_t all = word(index);
    if (all == 0 && !open) continue;  // true for most words while a page's range grows
    const std::uint32_t base = index * kWordBits;
    std::uint64_t ones = all & word_mask(index, first, end);
    if (open && (ones & 1U) == 0) run(begin, base);
    open = open && (ones & 1U) != 0;
    while (ones != 0) {
      const std::uint32_t low = lowest_one(ones);
      const std::uint64_t above = ~(ones | ((std::uint64_t{1} << low) - 1));
      if (!open) begin = base + low;
      open = above == 0;
      if (open) break;
      run(begin, base + lowest_one(above));
      ones &= ~std::uint64_t{0} << lowest_one(above);
    }
  }
  if (open) run(begin, index * kWordBits);
}

/// True if bits [first, end) are all set.
inline bool all_ones(const std::uint64_t* words, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t index = first / kWordBits; index * kWordBits < end; ++index) {
    const std::uint64_t mask = word_mask(index, first, end);
    if ((words[index] & mask) != mask) return false;
  }
  return true;
}

/// A view of a page's bits, which the page owns.
class UnitBitmap {
public:
  explicit UnitBitmap(std::uint64_t* words) : words_(words) {}

  bool test(std::uint32_t unit) const {
    return (words_[unit / kWordBits] >> (unit % kWordBits) & 1U) != 0;
  }

  /// True if all of [first, end) are set.
  bool all(std::uint32_t first, std::uint32_t end) const { return all_ones(words_, first, end); }

  std::uint32_t count(std::uint32_t first, std::uint32_t end) const {
    std::uint32_t ones = 0;
    for (std::uint32_t index = first / kWordBits; index * kWordBits < end; ++index)
      ones += num_ones(words_[index] & word_mask(index, first, end));
    return ones;
  }

  /// Sets [first, end); returns how many were not.
  std::uint32_t set(std::uint32_t first, std::uint32_t end) {
    std::uint32_t changed = 0;
    for (std::uint32_t index = first / kWordBits; index * kWordBits < end; ++index) {
      if (~words_[index] == 0) continue;
      const std::uint64_t zeros = ~words_[index] & word_mask(index, first, end);
      changed += num_ones(zeros);
      words_[index] |= zeros;
    }
    return changed;
  }

  /// Clears [first, end); returns how many were set.
  std::uint32_t clear(std::uint32_t first, std::uint32_t end) {
    std::uint32_t changed = 0;
    for (std::uint32_t index = first / kWordBits; index * kWordBits < end; ++index) {
      if (words_[index] == 0) continue;
      const std::uint64_t ones = words_[index] & word_mask(index, first, end);
      changed += num_ones(ones);
      words_[index] &= ~ones;
    }
    return changed;
  }

  std::uint64_t word(std::uint32_t index) const { return words_[index]; }

private:
  std::uint64_t* words_;
};

}  // namespace isthmus::pages
