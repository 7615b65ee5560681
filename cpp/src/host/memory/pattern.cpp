#include "host/memory/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "host/cpu/cpu_list.hpp"

namespace isthmus::host {
namespace {

constexpr std::size_t kWordBytes = 8;
// Below this a thread costs more than it saves: starting one takes some 50 us, and 8 MiB take 1 to
// 3 ms.
constexpr std::size_t kWordsPerThread = (std::size_t{8} << 20U) / kWordBytes;
// Fewer threads than this already reach the memory bandwidth.
constexpr std::size_t kMaxThreads = 16;

std::uint64_t little_endian(std::uint64_t word) {
  if constexpr (std::endian::native == std::endian::big) return __builtin_bswap64(word);
  return word;
}

std::byte trailing_byte(std::uint64_t last_word, std::size_t position) {
  return static_cast<std::byte>(last_word >> (position % kWordBytes * 8));
}

/// Runs task(part, first_word, last_word) over [0, num_words) in `num_parts` contiguous parts.
template <typename Task>
void over_parts(std::size_t num_words, std::size_t num_parts, const Task& task) {
  std::vector<std::jthread> threads;
  for (std::size_t part = 1; part < num_parts; ++part) {
    const std::size_t first = num_words / num_parts * part;
    const std::size_t last = part + 1 == num_parts ? num_words : first + num_words / num_parts;
    threads.emplace_back([&task, part, first, last] { task(part, first, last); });
  }
  task(std::size_t{0}, std::size_t{0}, num_parts == 1 ? num_words : num_words / num_parts);
}

std::size_t parts_for(std::size_t num_words) {
  const std::size_t useful = num_words / kWordsPerThread;
  if (useful < 2) return 1;
  const std::size_t cpus = std::max<std::size_t>(1, allowed_cpus().size());
  return std::min({useful, cpus, kMaxThreads});
}

}  // namespace

void fill_pattern(std::byte* target, std::size_t size_bytes, std::uint64_t seed,
                  FilledBy filled_by) {
  const std::size_t num_words = size_bytes / kWordBytes;
  over_parts(num_words, filled_by == FilledBy::one_thread ? 1 : parts_for(num_words),
             [=](std::size_t, std::size_t first, std::size_t last) {
               for (std::size_t i = first; i < last; ++i) {
                 const std::uint64_t word = little_endian(pattern_word(seed, i));
                 std::memcpy(target + i * kWordBytes, &word, kWordBytes);
               }
             });
  const std::uint64_t last_word = pattern_word(seed, num_words);
  for (std::size_t i = num_words * kWordBytes; i < size_bytes; ++i) {
    target[i] = trailing_byte(last_word, i);
  }
}

std::uint64_t count_pattern_mismatches(const std::byte* source, std::size_t size_bytes,
                                       std::uint64_t seed) {
  const std::size_t num_words = size_bytes / kWordBytes;
  const std::size_t num_parts = parts_for(num_words);
  std::vector<std::uint64_t> mismatches(num_parts);
  over_parts(num_words, num_parts, [&](std::size_t part, std::size_t first, std::size_t last) {
    std::uint64_t wrong = 0;
    for (std::size_t i = first; i < last; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, source + i * kWordBytes, kWordBytes);
      wrong += word != little_endian(pattern_word(seed, i)) ? 1U : 0U;
    }
    mismatches[part] = wrong;
  });
  std::uint64_t wrong = std::accumulate(mismatches.begin(), mismatches.end(), std::uint64_t{0});
  const std::uint64_t last_word = pattern_word(seed, num_words);
  for (std::size_t i = num_words * kWordBytes; i < size_bytes; ++i) {
    wrong += source[i] != trailing_byte(last_word, i) ? 1U : 0U;
  }
  return wrong;
}

}  // namespace isthmus::host
