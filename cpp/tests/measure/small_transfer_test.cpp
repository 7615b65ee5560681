// The small-transfer experiments, on any driver.
#include "measure/latency/small_transfer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kThreeRuns{.min_samples = 3, .max_samples = 3, .max_seconds = 60};

SmallTransferOptions options_of(std::size_t size_bytes, std::size_t num_iterations) {
  SmallTransferOptions options;
  options.size_bytes = size_bytes;
  options.num_iterations = num_iterations;
  options.stopping = kThreeRuns;
  return options;
}

std::map<std::string, std::vector<double>> by_metric(const Measurement& measurement) {
  std::map<std::string, std::vector<double>> found;
  for (const Samples& samples : measurement.samples) found[samples.metric] = samples.seconds;
  return found;
}

TEST(KernelThenCopy, GivesEachWayATimeForEachRunByEitherClock) {
  for (const LoopClock clock : {LoopClock::host, LoopClock::device}) {
    const auto found = by_metric(
        measure_kernel_then_copy(test::context(), &test::kernels(), clock, options_of(4, 100)));
    ASSERT_EQ(found.size(), 3U);
    for (const auto& [metric, values] : found) {
      EXPECT_EQ(values.size(), 3U) << metric;
      EXPECT_GT(*std::ranges::min_element(values), 0) << metric;
    }
    for (std::size_t run = 0; run < 3; ++run) {
      EXPECT_DOUBLE_EQ(found.at("async_over_blocking")[run],
                       found.at("async")[run] / found.at("blocking")[run]);
    }
  }
}

TEST(CopyKernelCopy, GivesEachDirectionATimeForEachRun) {
  const auto found =
      by_metric(measure_copy_kernel_copy(test::context(), &test::kernels(), options_of(4, 100)));
  ASSERT_EQ(found.size(), 4U);
  for (std::size_t run = 0; run < 3; ++run) {
    EXPECT_GT(found.at("upload")[run], 0);
    EXPECT_DOUBLE_EQ(found.at("both_ways")[run],
                     found.at("upload")[run] + found.at("download")[run]);
    EXPECT_DOUBLE_EQ(found.at("download_over_upload")[run],
                     found.at("download")[run] / found.at("upload")[run]);
  }
}

TEST(SmallTransfers, UseStreamsAsCudaStreamCreateMakesThem) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only the emulated driver logs its calls";
  const Kernels& kernels = test::kernels();
  const test::EmulatorControls controls(test::driver());
  const auto log_of = [&](const auto& measure) {
    controls.log_calls(1);
    measure();
    controls.log_calls(0);
    return controls.call_log();
  };
  for (const std::string& log :
       {log_of([&] {
          measure_kernel_then_copy(test::context(), &kernels, LoopClock::host, options_of(4, 5));
        }),
        log_of([&] { measure_copy_kernel_copy(test::context(), &kernels, options_of(4, 5)); })}) {
    EXPECT_NE(log.find("cuStreamCreate flags=0 -> 0"), std::string::npos);
    EXPECT_EQ(log.find("cuStreamCreate flags=1"), std::string::npos);
  }
}

TEST(SmallTransfers, AreCheckedAtEverySize) {
  for (const std::size_t size_bytes : {4UL, 8UL, 4096UL, 65536UL, 1UL << 20U}) {
    EXPECT_NO_THROW(measure_kernel_then_copy(test::context(), &test::kernels(), LoopClock::host,
                                             options_of(size_bytes, 5)));
    EXPECT_NO_THROW(
        measure_copy_kernel_copy(test::context(), &test::kernels(), options_of(size_bytes, 5)));
  }
}

TEST(SmallTransfers, NeedKernelsAndWholeWordsAndAnIteration) {
  const auto both = [](const Kernels* kernels, const SmallTransferOptions& options) {
    return [=] {
      measure_kernel_then_copy(test::context(), kernels, LoopClock::host, options);
      measure_copy_kernel_copy(test::context(), kernels, options);
    };
  };
  EXPECT_THROW(both(nullptr, options_of(4, 10))(), Unavailable);
  EXPECT_THROW(both(&test::kernels(), options_of(6, 10))(), UsageError);
  EXPECT_THROW(both(&test::kernels(), options_of(4, 0))(), UsageError);
  EXPECT_THROW(measure_copy_kernel_copy(test::context(), &test::kernels(), options_of(4, 0)),
               UsageError);
}

TEST(SmallTransferBuffers, KnowTheSumsOfTheOriginalExperiments) {
  const CurrentContext current(test::context());
  const SmallTransferBuffers buffers(test::context(), 4, 1, std::nullopt);
  EXPECT_NO_THROW(buffers.check(4950, 100, buffers.pinned()));
  EXPECT_NO_THROW(buffers.check(499500, 1000, buffers.pinned()));
  EXPECT_THROW(buffers.check(4949, 100, buffers.pinned()), CorruptTransfer);
}

TEST(SmallTransferBuffers, NoticeARestThatDidNotCome) {
  const CurrentContext current(test::context());
  SmallTransferBuffers buffers(test::context(), 64, 1, std::nullopt);
  buffers.reset();
  EXPECT_THROW(buffers.check(0, 1, buffers.pageable()), CorruptTransfer);
}

/// A call that does nothing, in one of the experiments.
struct Swallowed {
  const char* symbol;
  bool round;  ///< in the copy-kernel-copy experiment
  const char* name;
};

std::ostream& operator<<(std::ostream& out, const Swallowed& one) { return out << one.name; }

class AStepThatNeverHappened : public testing::TestWithParam<Swallowed> {
protected:
  void SetUp() override {
    if (!test::driver().emulated()) GTEST_SKIP() << "real drivers do what they are asked to";
  }
};

TEST_P(AStepThatNeverHappened, IsSeenInTheSum) {
  const Kernels& kernels = test::kernels();
  kernels.get("small_transfer", "isthmus_small_transfer_set");
  const test::EmulatorControls controls(test::driver());
  controls.swallow_calls(GetParam().symbol);
  if (GetParam().round) {
    EXPECT_THROW(measure_copy_kernel_copy(test::context(), &kernels, options_of(4, 10)),
                 CorruptTransfer);
  } else {
    EXPECT_THROW(
        measure_kernel_then_copy(test::context(), &kernels, LoopClock::host, options_of(4, 10)),
        CorruptTransfer);
  }
  controls.reset();
}

INSTANTIATE_TEST_SUITE_P(SmallTransfers, AStepThatNeverHappened,
                         testing::Values(Swallowed{"cuLaunchKernel", false,
                                                   "the_kernel_before_the_copy"},
                                         Swallowed{"cuMemcpyDtoH", false, "the_blocking_copy"},
                                         Swallowed{"cuMemcpyDtoHAsync", false, "the_async_copy"},
                                         Swallowed{"cuMemcpyHtoDAsync", true, "the_upload"},
                                         Swallowed{"cuLaunchKernel", true, "the_kernel_between"},
                                         Swallowed{"cuMemcpyDtoHAsync", true, "the_download"}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace isthmus::measure
