#include "workloads/modern/lookups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Embedding>& embedding() {
  static Recorded<Embedding> run(std::make_unique<Embedding>(EmbeddingSizes(), 1));
  return run;
}

TEST(Embedding, AddsUpTheRowsOfEachBag) {
  const EmbeddingArguments& in = embedding().program.arguments();
  for (unsigned bag = 0; bag < EmbeddingSizes().bags; ++bag)
    for (unsigned pair = 0; pair < kEmbeddingPairs; ++pair) {
      float first = 0;
      float second = 0;
      for (unsigned i = 0; i < EmbeddingSizes().lookups; ++i) {
        const std::size_t row = in.rows.values[bag * EmbeddingSizes().lookups + i];
        first += in.table.values[row * kEmbeddingPairs + pair].first;
        second += in.table.values[row * kEmbeddingPairs + pair].second;
      }
      ASSERT_EQ(in.sums.values[bag * kEmbeddingPairs + pair].first, first) << "bag " << bag;
      ASSERT_EQ(in.sums.values[bag * kEmbeddingPairs + pair].second, second) << "bag " << bag;
    }
}

TEST(Embedding, RowsAreWantedByZipfsLaw) {
  const Array<unsigned>& rows = embedding().program.arguments().rows;
  std::map<unsigned, unsigned> counts;
  for (std::uint64_t i = 0; i < rows.num_elements; ++i) ++counts[rows.values[i]];
  std::vector<unsigned> sorted;
  for (const auto& [row, count] : counts) sorted.push_back(count);
  std::sort(sorted.rbegin(), sorted.rend());
  // The sum of 1 / rank up to 524,288 is 13.75.
  const auto lookups = static_cast<double>(rows.num_elements);
  EXPECT_NEAR(sorted[0], lookups / 13.75, lookups * 0.005);
  EXPECT_NEAR(sorted[9], lookups / 13.75 / 10, lookups * 0.001);
  EXPECT_GT(counts.size(), 50'000U);
}

TEST(Embedding, TouchesLessThanHalfOfTheTable) {
  EXPECT_NEAR(embedding().counted.upload_kib, (128 + 2) * 1024, 1);
  EXPECT_LT(embedding().counted.touched_kib, 0.5 * embedding().counted.upload_kib);
}

}  // namespace
}  // namespace isthmus::workloads
