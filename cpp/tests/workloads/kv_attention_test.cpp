#include "workloads/kv_attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<KvAttention>& attention() {
  static Recorded<KvAttention> run(std::make_unique<KvAttention>(KvAttentionSizes(), 1));
  return run;
}

/// One query head of one sequence, token by token.
class OneHead {
public:
  OneHead(const KvAttentionArguments& in, unsigned sequence, unsigned head, unsigned query)
      : in_(in),
        sequence_(sequence),
        head_(head),
        first_(((sequence * in.num_heads + head) * kKvQueries + query) * kKvDimensions) {}

  std::vector<double> outputs() const {
    const std::vector<double> weights = softmax();
    std::vector<double> result(kKvDimensions);
    for (unsigned token = 0; token < weights.size(); ++token)
      for (unsigned d = 0; d < kKvDimensions; ++d) result[d] += weights[token] * value(token, d);
    return result;
  }

  double stored(unsigned dimension) const {
    return static_cast<double>(in_.outputs.values[first_ + dimension]);
  }

private:
  /// The position in the cache's blocks and their heads.
  std::uint64_t place_of(unsigned token) const {
    const unsigned block =
        in_.block_tables.values[sequence_ * in_.max_blocks + token / kKvBlockTokens];
    return std::uint64_t{block} * in_.num_heads + head_;
  }
  double key(unsigned token, unsigned d) const {
    const std::uint64_t part =
        (place_of(token) * kKvKeyParts + d / 8) * kKvBlockTokens + token % kKvBlockTokens;
    return static_cast<double>(kv_number(in_.keys.values[part].values[d % 8]));
  }
  double value(unsigned token, unsigned d) const {
    const std::uint64_t part =
        (place_of(token) * kKvBlockTokens + token % kKvBlockTokens) * kKvValueParts + d / 4;
    return static_cast<double>(kv_number(in_.values.values[part].values[d % 4]));
  }
  std::vector<double> softmax() const {
    std::vector<double> weights(in_.num_tokens.values[sequence_]);
    for (unsigned token = 0; token < weights.size(); ++token) {
      for (unsigned d = 0; d < kKvDimensions; ++d)
        weights[token] += static_cast<double>(in_.queries.values[first_ + d]) * key(token, d);
      weights[token] /= std::sqrt(static_cast<double>(kKvDimensions));
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    for (double& weight : weights) weight /= sum;
    return weights;
  }

  const KvAttentionArguments& in_;
  unsigned sequence_;
  unsigned head_;
  std::uint64_t first_;
};

TEST(KvAttention, ComputesTheOutputsThatALoopOverTheTokensComputes) {
  const KvAttentionArguments& in = attention().program.arguments();
  for (unsigned sequence = 0; sequence < KvAttentionSizes().sequences; sequence += 3)
    for (unsigned head = 0; head < KvAttentionSizes().heads; ++head)
      for (unsigned query = 0; query < kKvQueries; ++query) {
        const OneHead one(in, sequence, head, query);
        const std::vector<double> expected = one.outputs();
        for (unsigned d = 0; d < kKvDimensions; ++d)
          ASSERT_NEAR(one.stored(d), expected[d], 1e-5)
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
