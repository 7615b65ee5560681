#include "workloads/modern/kv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "one_kv_cache.hpp"
#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<KvAttention>& attention() {
  static Recorded<KvAttention> run(std::make_unique<KvAttention>(KvAttentionSizes(), 1));
  return run;
}

TEST(KvAttention, ComputesTheOutputsThatALoopOverTheTokensComputes) {
  const KvAttentionArguments& in = attention().program.arguments();
  for (unsigned sequence = 0; sequence < KvAttentionSizes().sequences; sequence += 3)
    for (unsigned head = 0; head < KvAttentionSizes().heads; ++head)
      for (unsigned query = 0; query < kKvQueries; ++query) {
        const testing::OneCache cache(in, sequence, head);
        const std::vector<double> expected = cache.attention(query);
        for (unsigned d = 0; d < kKvDimensions; ++d)
          ASSERT_NEAR(static_cast<double>(in.outputs.values[cache.first(query) + d]), expected[d],
                      1e-5)
              << sequence << ", " << head << ", " << query << ", " << d;
      }
}

TEST(KvAttention, GivesEachBlockToOneSequence) {
  const std::vector<std::uint32_t>& blocks = attention().program.used_blocks();
  EXPECT_EQ(std::set(blocks.begin(), blocks.end()).size(), blocks.size());
  EXPECT_LT(*std::max_element(blocks.begin(), blocks.end()), 4096U);
}

TEST(KvAttention, UploadsTheBlocksInUseAndNothingElseOfTheCache) {
  constexpr double kib_of_block =
      2.0 * KvAttentionSizes().heads * kKvBlockTokens * kKvDimensions * 2 / 1024;
  const double blocks_kib =
      static_cast<double>(attention().program.used_blocks().size()) * kib_of_block;
  EXPECT_GT(attention().counted.upload_kib, blocks_kib + 512);  // queries
  EXPECT_LT(attention().counted.upload_kib, blocks_kib + 600);
  // The unused ends of last blocks aren't read.
  EXPECT_NEAR(attention().counted.touched_kib, blocks_kib + 1024, 0.02 * blocks_kib);
  EXPECT_GT(attention().counted.pages, 120U);  // of 128: blocks are scattered
}

TEST(KvAttention, ReadsEachKeyAndValueOnce) {
  // A token's head is two lines of keys and two of values; tables and queries are few.
  std::uint64_t tokens = 0;
  for (unsigned sequence = 0; sequence < KvAttentionSizes().sequences; ++sequence)
    tokens += attention().program.arguments().num_tokens.values[sequence];
  const auto lines = static_cast<double>(tokens * KvAttentionSizes().heads * 4);
  EXPECT_NEAR(static_cast<double>(attention().counted.line_requests), lines, 0.05 * lines);
}

}  // namespace
}  // namespace isthmus::workloads
