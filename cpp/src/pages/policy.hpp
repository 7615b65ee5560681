// Which part of a page moves to the GPU when the GPU asks for some of its bytes.
#pragma once

#include "pages/host_device.hpp"

namespace isthmus::pages {

enum class PolicyKind : std::uint8_t {
  whole_page,      ///< the page (the paper's baseline)
  single_range,    ///< the request, and the gap to what is there: one range a page (Figure 3a)
  ranges,          ///< the request, and gaps under a threshold: a few ranges a page (Figure 3b)
  bitmap,          ///< the units asked for: one bit each, no gap filled
  block_64k,       ///< as bitmap, in the driver's big pages
  tree,            ///< as NVIDIA's driver: big pages, then the largest subtree over a threshold
  sequential,      ///< the units asked for, and the next prefetch_bytes of the page
  access_counter,  ///< stays remote until it has been asked for counter_threshold times
  zero_copy,       ///< never moves: each access crosses the link
  adaptive,        ///< blocks that double next to what is there and halve elsewhere
  tree_units,      ///< the paper's small units as leaves of the driver's tree
};

/// What happens when a page would need one range more than max_ranges. The paper doesn't say.
enum class Overflow : std::uint8_t {
  fill_gap,    ///< the smallest gap between ranges moves too (of equal ones the first)
  whole_page,  ///< the rest of the page moves too
  refuse,      ///< the request is served from the CPU's memory, and nothing moves
};

/// What the gap of a single range is computed from while transfers are on their way.
enum class SingleGap : std::uint8_t {
  planned,  ///< from all that was asked for
  valid,    ///< from what has arrived: concurrent requests transfer the same gap again
};

/// What of a request single_range and ranges ask for. The other kinds know whole units only.
enum class RequestedLength : std::uint8_t { line, unit };

/// What a GPU's write to bytes that aren't there does.
enum class WriteMiss : std::uint8_t {
  migrate,   ///< as a read does
  validate,  ///< whole lines become valid without being fetched
};

/// Options of all kinds: one value, which host and device can copy. Kinds ignore what isn't theirs.
///
/// Source      docs/simulate.md for what Zhang 2019 says and leaves open: the default is the first
///             answer of each row there. NVIDIA open-gpu-kernel-modules (595.45.04) for the
///             driver's constants, at each.
struct MigrationPolicy {
  PolicyKind kind = PolicyKind::ranges;
  /// What is translated, and has one state. Powers of two, all sizes here.
  /// Source: Zhang 2019; a VA block of the driver (UVM_VA_BLOCK_BITS 21).
  std::uint32_t page_bytes = 2U << 20U;
  /// The least that is asked for, but by whole_page. Source: Zhang 2019, experiments, 1 KB.
  std::uint32_t unit_bytes = 1U << 10U;
  /// What requests are cut into. Source: Zhang 2019, L1 and L2.
  std::uint32_t line_bytes = 128;
  /// Requests for what is on its way wait for that; otherwise each carries its own transfer.
  bool merge = true;

  RequestedLength request = RequestedLength::line;
  WriteMiss write = WriteMiss::migrate;
  SingleGap single_gap = SingleGap::planned;

  /// ranges: a gap smaller than this moves too. The paper names the threshold, and no number.
  std::uint32_t gap_bytes = 0;
  /// ranges: at most so many. Source: Zhang 2019 saw 2-3 and proposes 4 or 8.
  std::uint32_t max_ranges = 8;
  Overflow overflow = Overflow::fill_gap;

  /// tree, tree_units: a subtree moves if more than this share of it is there or asked for.
  /// Source: uvm_perf_prefetch.c, UVM_PREFETCH_THRESHOLD_DEFAULT.
  std::uint32_t tree_threshold_percent = 51;
  /// tree: what a fault grows to first. Source: uvm_perf_prefetch.c, grow_fault_granularity; big
  /// pages are 64 KiB.
  std::uint32_t grow_bytes = 64U << 10U;

  /// sequential: how much behind the request. A big page of the driver.
  std::uint32_t prefetch_bytes = 64U << 10U;

  /// access_counter: the access that makes its part of the page move.
  /// Source: uvm_gpu_access_counters.c, UVM_PERF_ACCESS_COUNTER_THRESHOLD_DEFAULT.
  std::uint32_t counter_threshold = 256;
  /// access_counter: what has one counter; the units of it that were asked for move together.
  /// Source: uvm_gpu_access_counters.c, UVM_PERF_ACCESS_COUNTER_GRANULARITY (2M).
  std::uint32_t counter_bytes = 2U << 20U;

  /// adaptive: blocks grow from unit_bytes to this. A big page of the driver.
  std::uint32_t max_unit_bytes = 64U << 10U;
};

}  // namespace isthmus::pages
