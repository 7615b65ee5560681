// When rows of host memory are moved in the order of their addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "block_arguments.cuh"

namespace isthmus {

/// What sorting counts with: [2][kIsthmusBins], zeros at first.
inline constexpr std::size_t kSortingBinsBytes = sizeof(std::uint32_t[2][kIsthmusBins]);

/// A GPU keeps the addresses of so many of the host's pages that rows anywhere in some GiB come as fast
/// as in order; beyond, each waits for its own. Measured on an H200, random rows of 512 bytes against
/// sorted ones: 48 and 49 GB/s from 1 GiB, 28 and 49 from 2 GiB, 23 and 50 from 4 GiB, 18 and 30 from
/// 24 GiB (benchmarks/blocks/h200). A row of 4 KiB takes longer than the wait. Sorting takes as long as
/// some thousand rows.
constexpr bool is_worth_sorting(std::uint64_t pool_bytes, std::uint64_t row_bytes,
                                std::uint64_t num_rows) noexcept {
  constexpr std::uint64_t reach_bytes = std::uint64_t{1} << 30U;
  constexpr std::uint64_t max_row_bytes = 2048;
  constexpr std::uint64_t min_rows = 8192;
  return pool_bytes > reach_bytes && row_bytes <= max_row_bytes && num_rows >= min_rows;
}

}  // namespace isthmus
