#include "workloads/modern/kv.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "one_kv_cache.hpp"
#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::OneCache;

constexpr KvDecodeSizes kSmall{.sequences = 3, .tokens = 300, .steps = 20, .heads = 2};

/// What the kernels had before and after a step.
struct Before {
  std::vector<float> queries;
  std::vector<float> outputs;
};

std::vector<float> values_of(const Array<float>& array) {
  return {array.values, array.values + array.num_elements};
}

template <class Check>
void each_head(const KvDecode& program, Check check) {
  for (unsigned sequence = 0; sequence < program.sizes().sequences; ++sequence)
    for (unsigned head = 0; head < program.sizes().heads; ++head)
      check(OneCache(program.arguments(), sequence, head));
}

/// A bfloat16 keeps eight bits of a number.
double rounding(double value) { return std::abs(value) / 128 + 1e-6; }

void expect_appended(const KvDecode& program, const Before& before) {
  each_head(program, [&](const OneCache& cache) {
    for (unsigned d = 0; d < kKvDimensions; ++d) {
      double key = 0;
      double value = 0;
      for (unsigned query = 0; query < kKvQueries; ++query) {
        const std::size_t at = cache.first(query) + d;
        key += static_cast<double>(before.queries[at]) / kKvQueries;
        value += static_cast<double>(before.outputs[at]) / kKvQueries;
        const float renewed = before.queries[at] * 0.5F + before.outputs[at];
        ASSERT_EQ(program.arguments().queries.values[at], renewed);
      }
      ASSERT_NEAR(cache.key(cache.num_tokens() - 1, d), key, rounding(key));
      ASSERT_NEAR(cache.value(cache.num_tokens() - 1, d), value, rounding(value));
    }
  });
}

void expect_attention(const KvDecode& program) {
  each_head(program, [&](const OneCache& cache) {
    for (unsigned query = 0; query < kKvQueries; ++query) {
      const std::vector<double> expected = cache.attention(query);
      for (unsigned d = 0; d < kKvDimensions; ++d)
        ASSERT_NEAR(static_cast<double>(program.arguments().outputs.values[cache.first(query) + d]),
                    expected[d], 1e-5);
    }
  });
}

TEST(KvDecode, AppendsATokenAndAttendsToAllInEveryStep) {
  auto owned = std::make_unique<KvDecode>(kSmall, 1);
  const KvDecode& program = *owned;
  Recorder recorder(std::move(owned));
  const auto now = [&] {
    return Before{values_of(program.arguments().queries), values_of(program.arguments().outputs)};
  };
  Before before = now();
  std::uint32_t steps = 0;
  while (const std::optional<trace::Block> block = recorder.next()) {
    const std::uint32_t num_ctas = program.program().launches[block->launch].num_ctas;
    if (block->first_cta + block->num_ctas != num_ctas) continue;
    if (block->launch % 2 == 0) {
      expect_appended(program, before);
    } else {
      expect_attention(program);
      ++steps;
    }
    before = now();
  }
  EXPECT_EQ(steps, kSmall.steps);
}

TEST(KvDecode, GrowsEverySequenceByOneTokenAStepInBlocksOfItsOwn) {
  testing::Recorded<KvDecode> run(std::make_unique<KvDecode>(kSmall, 1));
  const KvAttentionArguments& in = run.program.arguments();
  std::set<unsigned> blocks;
  std::size_t count = 0;
  for (unsigned sequence = 0; sequence < kSmall.sequences; ++sequence) {
    const unsigned tokens = in.num_tokens.values[sequence];
    EXPECT_EQ(tokens, run.program.prompt_tokens()[sequence] + kSmall.steps);
    for (unsigned index = 0; index * kKvBlockTokens < tokens; ++index, ++count)
      blocks.insert(in.block_tables.values[sequence * in.max_blocks + index]);
  }
  EXPECT_EQ(blocks.size(), count);
}

TEST(KvDecode, CopiesThePromptsOnceAndTablesWhenABlockIsAdded) {
  const KvDecode program(kSmall, 1);
  const std::uint64_t table = program.arguments().block_tables.address;
  std::uint32_t with_table = 0;
  for (std::size_t launch = 2; launch < program.program().launches.size(); launch += 2) {
    const std::vector<trace::HostStep>& steps = program.program().launches[launch].before;
    with_table += steps[0].address == table ? 1 : 0;
    EXPECT_EQ(steps.back().address, program.arguments().num_tokens.address);
    EXPECT_LE(steps.size(), 2U);
  }
  // In 19 steps each of three sequences begins one or two blocks.
  EXPECT_GE(with_table, 1U);
  EXPECT_LE(with_table, 6U);
}

TEST(KvDecode, ReadsTheWholeCacheInEveryStep) {
  testing::Recorded<KvDecode> run(std::make_unique<KvDecode>(kSmall, 1));
  std::uint64_t tokens = 0;
  for (const std::uint32_t prompt : run.program.prompt_tokens())
    for (std::uint32_t step = 1; step <= kSmall.steps; ++step) tokens += prompt + step;
  const std::uint64_t lines = tokens * kSmall.heads * 4;
  // Queries and outputs, which are read and written a few times, and tables.
  const std::uint64_t others = std::uint64_t{kSmall.sequences} * kSmall.heads * kSmall.steps * 400;
  EXPECT_GT(run.counted.line_requests, lines);
  EXPECT_LT(run.counted.line_requests, lines + others);
}

}  // namespace
}  // namespace isthmus::workloads
