// The tree over a page's units by which NVIDIA's driver decides how much to prefetch at a fault.
#pragma once

#include "pages/unit_bitmap.hpp"

namespace isthmus::pages {

/// Units [first, end).
struct UnitRun {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
};

/// The largest subtree around `leaf` with more than threshold_percent of its units set, counting
/// those of `leaf` as set; `leaf` itself if there is none.
///
/// units              those resident or requested: a UnitBitmap, or what counts like one
/// num_units          of the tree, a power of two
/// leaf               aligned to its length, a power of two
/// Source             uvm_perf_prefetch.c, compute_prefetch_region: from leaf to root, the last one
///                    with counter * 100 > pages * threshold
template <class Units>
UnitRun largest_subtree(const Units& units, std::uint32_t num_units, UnitRun leaf,
                        std::uint32_t threshold_percent) {
  UnitRun best = leaf;
  std::uint32_t first = leaf.first;
  std::uint32_t length = leaf.end - leaf.first;
  std::uint64_t num_set = length;
  while (length < num_units) {
    const std::uint32_t sibling = first ^ length;
    num_set += units.count(sibling, sibling + length);
    first &= ~length;
    length *= 2;
    if (num_set * 100 > std::uint64_t{length} * threshold_percent) best = {first, first + length};
  }
  return best;
}

/// The largest subtree around `leaf` with less than threshold_percent of its units still set after
/// `leaf`, and the smaller subtrees for which this is true, have been evicted; `leaf` itself if
/// there is none.
///
/// Source             Ganguly et al., ISCA 2019, from its simulator: UVMSmart, gpu-sim.cc,
///                    traverse_and_remove_lp_tree: from leaf to root, valid_size < size / 2. That
///                    code also looks at subtrees away from the leaf.
inline UnitRun largest_sparse_subtree(const UnitBitmap& units, std::uint32_t num_units,
                                      UnitRun leaf, std::uint32_t threshold_percent) {
  UnitRun best = leaf;
  std::uint32_t first = leaf.first;
  std::uint32_t length = leaf.end - leaf.first;
  std::uint64_t num_set = 0;
  while (length < num_units) {
    const std::uint32_t sibling = first ^ length;
    num_set += units.count(sibling, sibling + length);
    first &= ~length;
    length *= 2;
    if (num_set * 100 >= std::uint64_t{length} * threshold_percent) continue;
    best = {first, first + length};
    num_set = 0;
  }
  return best;
}

}  // namespace isthmus::pages
