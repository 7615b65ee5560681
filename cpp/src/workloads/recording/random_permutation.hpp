// Numbers in random order.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "workloads/recording/random_numbers.hpp"

namespace isthmus::workloads {

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
