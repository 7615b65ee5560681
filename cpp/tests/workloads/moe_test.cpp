#include "workloads/modern/products.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;
using Kind = trace::HostStep::Kind;

/// Experts that have more tokens than a tile, as well as some with one.
constexpr MoeSizes kSmall{.experts = 16,
                          .chosen = 2,
                          .tokens = 32,
                          .batches = 3,
                          .width = 256,
                          .inner = 512,
                          .cached = 4};

Recorded<Moe>& moe() {
  static Recorded<Moe> run(std::make_unique<Moe>(MoeSizes(), 1));
  return run;
}

/// One token through one expert, number by number.
class OneExpert {
public:
  OneExpert(const MoeArguments& in, std::uint32_t expert) : in_(in), expert_(expert) {}

  std::vector<double> outputs(const float* token) const {
    std::vector<double> hidden(in_.inner);
    for (unsigned row = 0; row < in_.inner; ++row) {
      double gate = 0;
      double up = 0;
      for (unsigned i = 0; i < in_.width; ++i) {
        gate += weight(row, in_.width, i) * static_cast<double>(token[i]);
        up += weight(in_.inner + row, in_.width, i) * static_cast<double>(token[i]);
      }
      hidden[row] = gate / (1 + std::exp(-gate)) * up;
    }
    std::vector<double> result(in_.width);
    const unsigned down = 2 * in_.inner * in_.width / in_.inner;  // in rows of `inner` numbers
    for (unsigned row = 0; row < in_.width; ++row)
      for (unsigned i = 0; i < in_.inner; ++i)
        result[row] += weight(down + row, in_.inner, i) * hidden[i];
    return result;
  }

private:
  double weight(unsigned row, unsigned row_length, unsigned column) const {
    const std::uint64_t of_expert = std::uint64_t{3} * in_.inner * in_.width;
    const std::uint64_t at = expert_ * of_expert + std::uint64_t{row} * row_length + column;
    return static_cast<double>(moe_number(in_.weights.values[at / 8].values[at % 8]));
  }

  const MoeArguments& in_;
  std::uint32_t expert_;
};

void expect_outputs(const Moe& program, std::uint32_t batch) {
  const MoeArguments& in = program.arguments();
  const MoeSizes& sizes = program.sizes();
  for (std::uint32_t token = 0; token < sizes.tokens; token += 3) {
    std::vector<double> expected(sizes.width);
    for (std::uint32_t choice = 0; choice < sizes.chosen; ++choice) {
      const std::size_t at = (batch * sizes.tokens + token) * sizes.chosen + choice;
      const OneExpert expert(in, program.choices()[at]);
      const std::vector<double> part = expert.outputs(in.inputs.values + token * sizes.width);
      for (std::size_t i = 0; i < part.size(); ++i) expected[i] += part[i] / sizes.chosen;
    }
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(static_cast<double>(in.outputs.values[token * sizes.width + i]), expected[i],
                  1e-4)
          << batch << ", " << token << ", " << i;
  }
}

TEST(Moe, ComputesTheOutputsThatALoopOverTheTokensComputesInEveryBatch) {
  auto owned = std::make_unique<Moe>(kSmall, 1);
  const Moe& program = *owned;
  Recorder recorder(std::move(owned));
  std::uint32_t last = 0;
  while (const std::optional<trace::Block> block = recorder.next()) {
    const trace::Launch& launch = program.program().launches[block->launch];
    if (!launch.name.starts_with("outputs")) continue;
    if (block->first_cta + block->num_ctas == launch.num_ctas)
      expect_outputs(program, last = block->launch / 3);
  }
  EXPECT_EQ(last, kSmall.batches - 1);
}

TEST(Moe, SendsEachTokenToDifferentExperts) {
  const std::span<const std::uint32_t> choices = moe().program.choices();
  for (std::size_t at = 0; at < choices.size(); at += MoeSizes().chosen)
    ASSERT_NE(choices[at], choices[at + 1]) << at;
}

double share_of_most_popular(std::uint32_t skew) {
  const Moe program({.tokens = 64, .batches = 64, .width = 256, .inner = 256, .skew = skew}, 1);
  std::vector<std::uint32_t> counts(MoeSizes().experts);
  for (const std::uint32_t expert : program.choices()) ++counts[expert];
  return static_cast<double>(*std::max_element(counts.begin(), counts.end())) /
         static_cast<double>(program.choices().size());
}

TEST(Moe, ChoosesExpertsByZipfsLaw) {
  double sum = 0;
  for (int rank = 1; rank <= 128; ++rank) sum += 1.0 / rank;
  // Of two draws without replacement, a little less than a draw's share.
  EXPECT_NEAR(share_of_most_popular(100), 1 / sum, 0.03);
  EXPECT_NEAR(share_of_most_popular(0), 1.0 / 128, 0.004);
  EXPECT_GT(share_of_most_popular(200), 0.4);
}

/// The experts that the programmer copies before a batch.
std::vector<std::uint32_t> copied(const Moe& program, std::uint32_t batch) {
  std::vector<std::uint32_t> experts;
  for (const trace::HostStep& step : program.program().launches[batch * 3].before) {
    if (step.kind != Kind::upload_again) continue;
    EXPECT_EQ(step.size_bytes, program.bytes_of_expert());
    experts.push_back(static_cast<std::uint32_t>(
        (step.address - program.arguments().weights.address) / program.bytes_of_expert()));
  }
  return experts;
}

std::set<std::uint32_t> chosen_in(const Moe& program, std::uint32_t batch) {
  const std::uint32_t num_slots = program.sizes().tokens * program.sizes().chosen;
  const auto first = program.choices().begin() + batch * num_slots;
  return {first, first + num_slots};
}

TEST(Moe, CopiesEachExpertOnceIfThereIsRoomForAll) {
  const Moe program({.cached = 128}, 1);
  std::set<std::uint32_t> known;
  for (std::uint32_t batch = 0; batch < MoeSizes().batches; ++batch) {
    std::set<std::uint32_t> expected;
    for (const std::uint32_t expert : chosen_in(program, batch))
      if (known.insert(expert).second) expected.insert(expert);
    const std::vector<std::uint32_t> found = copied(program, batch);
    EXPECT_EQ(std::set(found.begin(), found.end()), expected) << batch;
    EXPECT_EQ(found.size(), expected.size()) << batch;
  }
}

TEST(Moe, CopiesAllExpertsOfABatchIfThereIsRoomForOne) {
  const Moe program({.cached = 1}, 1);
  for (std::uint32_t batch = 1; batch < MoeSizes().batches; ++batch)
    EXPECT_GE(copied(program, batch).size() + 1, chosen_in(program, batch).size()) << batch;
}

TEST(Moe, ReadsTheWeightsOfEachTileAndNoOthers) {
  std::set<std::uint32_t> used;
  std::uint64_t batches_of_experts = 0;
  for (std::uint32_t batch = 0; batch < MoeSizes().batches; ++batch) {
    const std::set<std::uint32_t> experts = chosen_in(moe().program, batch);
    batches_of_experts += experts.size();
    used.insert(experts.begin(), experts.end());
  }
  const double kib = static_cast<double>(moe().program.bytes_of_expert()) / 1024;
  EXPECT_GT(moe().counted.touched_kib, static_cast<double>(used.size()) * kib);
  EXPECT_LT(moe().counted.touched_kib, static_cast<double>(used.size()) * kib + 400);
  EXPECT_LT(used.size(), MoeSizes().experts);
  EXPECT_GT(moe().counted.line_requests,
            batches_of_experts * moe().program.bytes_of_expert() / 128);
}

}  // namespace
}  // namespace isthmus::workloads
