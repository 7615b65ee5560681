#include "workloads/recording/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "trace/checking.hpp"

namespace isthmus::workloads {
namespace {

constexpr std::uint32_t kNumCtas = 100;
constexpr std::uint32_t kThreadsPerCta = 64;
constexpr std::uint32_t kNumThreads = kNumCtas * kThreadsPerCta;

/// Two launches: the first stores `stores` lines in each thread, the second adds 1 to each thread's
/// value.
class TwoLaunches : public Workload {
public:
  explicit TwoLaunches(std::uint32_t stores) : stores_(stores) {
    data_ = heap_.allocate<std::uint32_t>("data", kNumThreads * 32);
    program_.launches = {launch("store", kNumCtas, kThreadsPerCta),
                         launch("add", kNumCtas, kThreadsPerCta)};
    finish_program();
  }

  void reset() override { std::fill_n(data_.values, data_.num_elements, 0U); }
  void before(std::uint32_t launch) override { launches_begun_.push_back(launch); }

  void run(std::uint32_t launch, Cta& cta) override {
    cta.each_warp([&](Warp& warp) {
      const auto element = (warp.thread() + cta.index() * cta.num_threads()) * 32;
      if (launch == 0)
        for (std::uint32_t i = 0; i < stores_; ++i) warp.store(data_, element, element);
      else
        warp.store(data_, element, warp.load(data_, element) + 1);
    });
  }

  const std::vector<std::uint32_t>& launches_begun() const { return launches_begun_; }
  const Array<std::uint32_t>& data() const { return data_; }

private:
  std::uint32_t stores_;
  Array<std::uint32_t> data_;
  std::vector<std::uint32_t> launches_begun_;
};

TEST(Recorder, BlocksAreWholeCtasInTheOrderOfLaunchesAndCtas) {
  Recorder recorder(std::make_unique<TwoLaunches>(50));
  trace::BlockOrder order(recorder.program());
  std::uint32_t num_blocks = 0;
  while (const std::optional<trace::Block> block = recorder.next()) {
    order.check(*block);
    trace::check_block(recorder.program(), *block);
    ++num_blocks;
  }
  order.check_end();
  EXPECT_GT(num_blocks, 2U);
  EXPECT_FALSE(recorder.next().has_value());
}

TEST(Recorder, ABlockHasOneCtaMoreThanItsLimitAtMost) {
  Recorder recorder(std::make_unique<TwoLaunches>(200));
  std::size_t max_lines = 0;
  while (const std::optional<trace::Block> block = recorder.next())
    max_lines = std::max(max_lines, block->lines.size());
  EXPECT_GE(max_lines, trace::BlockBuilder::kFullBlock);
  EXPECT_LE(max_lines, trace::BlockBuilder::kFullBlock + kThreadsPerCta * 200);
}

TEST(Recorder, ComputesAsItGoesAndAnewAfterRewind) {
  auto owned = std::make_unique<TwoLaunches>(1);
  const TwoLaunches& workload = *owned;
  Recorder recorder(std::move(owned));
  EXPECT_TRUE(workload.launches_begun().empty());
  const auto last = [&] { return workload.data().values[(kNumThreads - 1) * 32]; };
  while (recorder.next()) {
  }
  EXPECT_EQ(last(), (kNumThreads - 1) * 32 + 1);
  recorder.rewind();
  EXPECT_EQ(last(), 0U);
  while (recorder.next()) {
  }
  EXPECT_EQ(last(), (kNumThreads - 1) * 32 + 1);
  EXPECT_EQ(workload.launches_begun(), (std::vector<std::uint32_t>{0, 1, 0, 1}));
}

TEST(Recorder, CountsInstructionsOfAllBlocks) {
  Recorder recorder(std::make_unique<TwoLaunches>(3));
  while (recorder.next()) {
  }
  EXPECT_EQ(recorder.thread_instructions(), kNumThreads * (3U + 2));
}

TEST(Heap, GivesOutAddressesOneAfterAnother) {
  Heap heap;
  EXPECT_EQ(heap.allocate<float>("a", 1).address, 0xC0000000U);
  EXPECT_EQ(heap.allocate<float>("b", 65).address, 0xC0000100U);
  EXPECT_EQ(heap.allocate<char>("c", 1).address, 0xC0000300U);
  ASSERT_EQ(heap.allocations().size(), 3U);
  EXPECT_EQ(heap.allocations()[1].name, "b");
  EXPECT_EQ(heap.allocations()[1].size_bytes, 260U);
}

}  // namespace
}  // namespace isthmus::workloads
