// Embedding bags: for each bag, the sum of some rows of a large table. One warp for each bag, two
// numbers of a row for each lane.
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

/// Two adjacent numbers.
struct EmbeddingPair {
  float first;
  float second;

  friend EmbeddingPair operator+(EmbeddingPair a, EmbeddingPair b) {
    return {a.first + b.first, a.second + b.second};
  }
};

inline constexpr unsigned kEmbeddingPairs = 32;  ///< in a row

struct EmbeddingArguments {
  Array<EmbeddingPair> table;  ///< [rows][kEmbeddingPairs]
  Array<unsigned> rows;        ///< [bags][lookups]
  Array<EmbeddingPair> sums;   ///< [bags][kEmbeddingPairs]
  unsigned num_lookups;        ///< in a bag
};

// Instructions of a thread, counted in the source.
inline constexpr unsigned kEmbeddingBag = 14;
inline constexpr unsigned kEmbeddingLookup = 8;

template <class Cta>
void embedding_bags(Cta& cta, const EmbeddingArguments& in) {
  cta.each_warp([&](auto& warp) {
    const unsigned bag = cta.index() * cta.num_warps() + warp.index();
    auto sum = warp.lanes(EmbeddingPair{0, 0});
    warp.compute(kEmbeddingBag);
    for (unsigned lookup = 0; lookup < in.num_lookups; ++lookup) {
      const auto row = warp.load(in.rows, warp.lanes(bag * in.num_lookups + lookup));
      sum = sum + warp.load(in.table, row * kEmbeddingPairs + warp.lane());
      warp.compute(kEmbeddingLookup);
    }
    warp.store(in.sums, warp.lane() + bag * kEmbeddingPairs, sum);
  });
}

}  // namespace isthmus::workloads
