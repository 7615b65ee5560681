// Random numbers, and numbers in random order, that are equal with every compiler, unlike the
// standard's distributions.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace isthmus::workloads {

/// SplitMix64.
///
/// Source      Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014
class RandomNumbers {
public:
  explicit RandomNumbers(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t bits = state_ += 0x9E3779B97F4A7C15;
    bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EB;
    return bits ^ (bits >> 31U);
  }
  /// In [0, bound); bound > 0.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32U) * bound) >> 32U);
  }
  /// In [0, 1), a multiple of 2^-24.
  float uniform() { return static_cast<float>(next() >> 40U) * 0x1.0p-24F; }

private:
  std::uint64_t state_;
};

/// Returns first, first + 1, ... in random order, by Fisher and Yates's shuffle.
inline std::vector<std::uint32_t> random_permutation(std::uint32_t first,
                                                     std::uint32_t num_elements,
                                                     RandomNumbers& random) {
  std::vector<std::uint32_t> result(num_elements);
  std::iota(result.begin(), result.end(), first);
  for (std::uint32_t left = num_elements; left > 1; --left)
    std::swap(result[left - 1], result[random.below(left)]);
  return result;
}

}  // namespace isthmus::workloads
