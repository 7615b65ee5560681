// Lookups in an embedding table.
//
// Embedding bags: for each bag, the sum of some rows of a large table. One warp for each bag, two
// numbers of a row for each lane.
#pragma once

#include <cstdint>

#include "workloads/recording/array.hpp"
#include "workloads/sizes.hpp"
#include "workloads/workload.hpp"

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

struct EmbeddingSizes {
  std::uint32_t rows = 1U << 19U;  ///< of the table
  std::uint32_t bags = 16384;
  std::uint32_t lookups = 32;  ///< in a bag
};

/// 524,288 rows of 64 numbers (128 MiB), 16,384 bags of 32 lookups. The rows follow Zipf's law with
/// exponent 1; frequent rows are scattered.
class Embedding : public Workload {
public:
  static constexpr std::uint32_t kThreadsPerCta = 128;
  static constexpr std::uint32_t kBagsPerCta = kThreadsPerCta / kNumLanes;

  using Sizes = EmbeddingSizes;
  static constexpr SizeOf<EmbeddingSizes> kSizes[] = {
      {{.name = "rows",
        .meaning = "rows of the table, 256 B each",
        .least = 32,
        .most = 1U << 25U,
        .power_of_two = true},
       &EmbeddingSizes::rows},
      {{.name = "bags",
        .meaning = "bags of lookups",
        .least = 4,
        .most = 1U << 22U,
        .multiple = kBagsPerCta},
       &EmbeddingSizes::bags},
      {{.name = "lookups", .meaning = "lookups in a bag", .most = 512}, &EmbeddingSizes::lookups}};

  Embedding(const EmbeddingSizes& sizes, std::uint64_t seed);

  void reset() override;
  void run(std::uint32_t launch, Cta& cta) override;

  const EmbeddingSizes& sizes() const { return sizes_; }
  const EmbeddingArguments& arguments() const { return arguments_; }

private:
  EmbeddingSizes sizes_;
  EmbeddingArguments arguments_{};
};

}  // namespace isthmus::workloads
