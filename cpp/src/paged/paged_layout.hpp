// How the device memory of a paged array is divided, and how its maps are read on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "paged/paged_memory.hpp"

namespace isthmus {

// The memory of the maps begins with a word for results that are one number, whether all is valid, the
// counters, the clock, and the results of blocks; the valid, busy and dirty bits follow, and what a
// budgeted array has more. A stream's view is a paged_map or a budgeted_map, whether all is settled, and
// the settled bits.
inline constexpr std::size_t kPagedScratchAt = 0;
inline constexpr std::size_t kPagedWholeAt = 32;
inline constexpr std::size_t kPagedCountersAt = 64;
inline constexpr std::size_t kPagedClockAt = 128;
inline constexpr std::size_t kPagedResultsAt = 256;
inline constexpr std::size_t kPagedResults = 1024;
inline constexpr std::size_t kPagedBitsAt = kPagedResultsAt + kPagedResults * 8;
inline constexpr std::size_t kPagedSettledAt = 512;
inline constexpr std::size_t kPagedAllSettledAt = kPagedSettledAt - sizeof(paged::word);
static_assert(kPagedCountersAt + paged::kNumCounters * sizeof(paged::number) <= kPagedClockAt);
static_assert(kPagedClockAt + sizeof(budgeted_clock) <= kPagedResultsAt);
static_assert(sizeof(budgeted_map) <= kPagedAllSettledAt);

/// Gives what it was given.
///
/// Throws      UsageError for what no array can have: see PagedMemory
PagedOptions checked(const PagedOptions& options);
PagedSource checked(const PagedSource& source, const PagedOptions& options);

/// What has a bit of its own: a unit, or 4 KiB of a larger one, so that several warps share its fetch.
std::size_t granule_bytes(const PagedOptions& options) noexcept;

/// Sizes and places, in bytes.
struct PagedLayout {
  PagedLayout(const PagedSource& source, const PagedOptions& options);

  /// Without settled bits. The host's memory is given as the GPU addresses it. Of an array without a
  /// budget only the paged_map is set; else kernels for arrays without one fault.
  budgeted_map map(CUdeviceptr items, CUdeviceptr maps, CUdeviceptr host,
                   unsigned array_number) const noexcept;

  bool budgeted;
  std::uint64_t first_byte, end_byte;     ///< as in paged_map
  unsigned unit_shift;                    ///< of what has a bit of its own
  unsigned parts_shift;                   ///< log2 of how many of these a unit has
  std::uint64_t num_frames;               ///< 0 without a budget
  std::size_t bits_bytes;                 ///< of one map
  std::size_t units_bytes, frames_bytes;  ///< of a word for each unit, or frame
  std::size_t item_bytes, map_bytes;
  /// Of the bits that a budgeted array of a file has more; 0: none.
  std::size_t changed_at = 0, taken_at = 0;
  std::size_t view_bytes;  ///< of one stream's view
};

bool is_set(const std::vector<std::uint32_t>& words, std::uint64_t unit);
/// How many bits are set of units begin .. end - 1.
std::uint64_t bits_within(const std::vector<std::uint32_t>& words, const paged::extent& units);

/// Counts valid units, the pages that have any, and their ranges.
PagedStats counted(const std::vector<std::uint32_t>& valid, const paged_map& map,
                   std::size_t page_bytes);

}  // namespace isthmus
