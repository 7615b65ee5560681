// Which part of a page migrates to the GPU when the GPU requests some of its bytes.
#pragma once

#include <cstdint>

namespace isthmus::pages {

enum class PolicyKind : std::uint8_t {
  whole_page,      ///< the page (Zhang 2019's baseline)
  single_range,    ///< the request, and the gap to the resident bytes: one range a page (Figure 3a)
  ranges,          ///< the request, and gaps below a threshold: a few ranges a page (Figure 3b)
  bitmap,          ///< the requested units: one bit each, gaps stay
  block_64k,       ///< like bitmap, in the driver's big pages
  tree,            ///< like NVIDIA's driver: big pages, then the largest subtree over a threshold
  sequential,      ///< the requested units, and the next prefetch_bytes of the page
  access_counter,  ///< remote until counter_threshold accesses
  zero_copy,       ///< never migrates: each access crosses the link
  adaptive,        ///< blocks that double next to resident bytes and halve elsewhere
  tree_units,      ///< Zhang 2019's small units as leaves of the driver's tree
  own,             ///< what a library of the user says (isthmus/policy.h): PageTable asks it
};

/// What happens when a page would need more than max_ranges. Zhang 2019 doesn't say.
enum class Overflow : std::uint8_t {
  fill_gap,    ///< the smallest gap between ranges migrates too (of equal ones the first)
  whole_page,  ///< the rest of the page migrates too
  refuse,      ///< the request is served from host memory, and nothing migrates
};

/// From which bytes the gap of a single range is computed while transfers are in flight.
enum class SingleGap : std::uint8_t {
  planned,  ///< from all requested bytes
  valid,    ///< from the bytes that have arrived: concurrent requests transfer the same gap again
};

/// What a request covers with single_range and ranges. The other kinds only have whole units.
enum class RequestedLength : std::uint8_t { line, unit };

/// What a GPU write to bytes that aren't resident does.
enum class WriteMiss : std::uint8_t {
  migrate,   ///< migrates, like a read
  validate,  ///< makes whole lines valid without fetching them
};

/// Options of all kinds, as one value. A kind ignores the other
/// kinds' options.
///
/// Source      docs/simulate-evaluation.md says what Zhang 2019 specifies and what it leaves open:
///             each default is the first answer of a row there. The driver's constants are from
///             NVIDIA open-gpu-kernel-modules (595.45.04); each names its place.
struct MigrationPolicy {
  PolicyKind kind = PolicyKind::ranges;
  /// The unit of translation, with one state. Like all sizes here, a power of two. Source: Zhang
  /// 2019; a VA block of the driver (UVM_VA_BLOCK_BITS 21).
  std::uint32_t page_bytes = 2U << 20U;
  /// The migration unit of all kinds but whole_page. Source: Zhang 2019, experiments, 1 KB.
  std::uint32_t unit_bytes = 1U << 10U;
  /// The unit of the GPU's requests. Source: Zhang 2019, L1 and L2.
  std::uint32_t line_bytes = 128;
  /// True: requests for bytes in flight wait for them. False: each request starts its own transfer.
  bool merge = true;

  RequestedLength request = RequestedLength::line;
  WriteMiss write = WriteMiss::migrate;
  SingleGap single_gap = SingleGap::planned;

  /// ranges: a gap smaller than this migrates too. Zhang 2019 names the threshold, but no number.
  std::uint32_t gap_bytes = 0;
  /// ranges: the maximum. Source: Zhang 2019 saw 2-3 and proposes 4 or 8.
  std::uint32_t max_ranges = 8;
  Overflow overflow = Overflow::fill_gap;

  /// tree, tree_units: a subtree migrates if more than this share of it is resident or requested.
  /// Source: uvm_perf_prefetch.c, UVM_PREFETCH_THRESHOLD_DEFAULT.
  std::uint32_t tree_threshold_percent = 51;
  /// tree: the block that a fault grows to first. Source: uvm_perf_prefetch.c,
  /// grow_fault_granularity; big pages are 64 KiB.
  std::uint32_t grow_bytes = 64U << 10U;

  /// sequential: the bytes behind the request. A big page of the driver.
  std::uint32_t prefetch_bytes = 64U << 10U;

  /// access_counter: the number of the access that makes its units migrate. Source:
  /// uvm_gpu_access_counters.c, UVM_PERF_ACCESS_COUNTER_THRESHOLD_DEFAULT.
  std::uint32_t counter_threshold = 256;
  /// access_counter: the bytes of one counter; its touched units migrate together. Source:
  /// uvm_gpu_access_counters.c, UVM_PERF_ACCESS_COUNTER_GRANULARITY (2M).
  std::uint32_t counter_bytes = 2U << 20U;

  /// adaptive: blocks grow from unit_bytes to this. A big page of the driver.
  std::uint32_t max_unit_bytes = 64U << 10U;
};

}  // namespace isthmus::pages
