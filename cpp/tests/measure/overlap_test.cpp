// Pipelines of copies and kernels: the bytes they bring, and the relation of their times.
#include <gtest/gtest.h>

#include <algorithm>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "measure/bandwidth/overlap.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 3, .max_seconds = 0.2};
constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr PipelineCopies kAllCopies[] = {PipelineCopies::up, PipelineCopies::down,
                                         PipelineCopies::duplex};

CopyBuffers pinned(std::size_t size_bytes) {
  return {test::context(), HostMemory::pinned, size_bytes, std::nullopt};
}

double least(const Measurement& measurement, const std::string& metric) {
  for (const Samples& samples : measurement.samples) {
    if (samples.metric == metric)
      return *std::min_element(samples.seconds.begin(), samples.seconds.end());
  }
  throw std::runtime_error("no metric " + metric);
}

TEST(Overlap, BringsEveryChunkThroughAnyPipeline) {
  CopyBuffers buffers = pinned(kMiB);
  for (const PipelineCopies copies : kAllCopies) {
    for (const std::size_t num_chunks : {1UL, 2UL, 8UL}) {
      for (const std::size_t num_streams : {1UL, 2UL, 4UL}) {
        const Measurement measurement = measure_overlap(
            buffers, &test::kernels(), {copies, kMiB, num_chunks, num_streams, kQuick});
        EXPECT_GT(least(measurement, "copy_alone"), 0);
        EXPECT_GT(least(measurement, "compute_alone"), 0);
      }
    }
  }
}

TEST(Overlap, IsNoQuickerThanTheLinkAndOfOneStreamNoQuickerThanBothHalves) {
  if (test::driver().profile() != "small") GTEST_SKIP() << "its link's speed isn't known";
  // The profile's 3 GB/s are a lower bound, however slow this machine is; kernels last as long.
  constexpr double kMinHalfSeconds = 8.0 * kMiB / 3e9;
  CopyBuffers buffers = pinned(8 * kMiB);
  const auto measured = [&](std::size_t num_streams) {
    return measure_overlap(buffers, &test::kernels(),
                           {PipelineCopies::up, 8 * kMiB, 4, num_streams, kQuick});
  };
  const Measurement overlapped = measured(2);
  EXPECT_GE(least(overlapped, "copy_alone"), kMinHalfSeconds);
  EXPECT_GE(least(overlapped, "compute_alone"), kMinHalfSeconds);
  EXPECT_GE(least(overlapped, "together"), kMinHalfSeconds);
  EXPECT_GE(least(measured(1), "together"), 2 * kMinHalfSeconds);
}

TEST(Overlap, IsCorruptIfItsCopiesOrItsKernelsNeverRan) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  test::EmulatorControls controls(test::driver());
  struct {
    PipelineCopies copies;
    const char* missing;
  } const cases[] = {
      {PipelineCopies::up, "cuMemcpyHtoDAsync"},     {PipelineCopies::down, "cuMemcpyDtoHAsync"},
      {PipelineCopies::duplex, "cuMemcpyHtoDAsync"}, {PipelineCopies::duplex, "cuMemcpyDtoHAsync"},
      {PipelineCopies::down, "cuLaunchKernel"},      {PipelineCopies::duplex, "cuLaunchKernel"}};
  for (const auto& each : cases) {
    CopyBuffers buffers = pinned(kMiB);
    buffers.prepare(&test::kernels());
    controls.swallow_calls(each.missing);
    EXPECT_THROW(measure_overlap(buffers, &test::kernels(), {each.copies, kMiB, 4, 2, kQuick}),
                 CorruptTransfer)
        << each.missing;
    controls.reset();
  }
}

TEST(Overlap, LeavesBuffersThatCanBeUsedAgain) {
  CopyBuffers buffers = pinned(kMiB);
  for (int round = 0; round < 2; ++round) {
    for (const PipelineCopies copies : kAllCopies)
      EXPECT_NO_THROW(measure_overlap(buffers, &test::kernels(), {copies, kMiB / 2, 2, 2, kQuick}));
  }
}

TEST(Overlap, RefusesChunksThatNoWordFitsAndMissingKernels) {
  CopyBuffers buffers = pinned(kMiB);
  const auto measure = [&](std::size_t size_bytes, std::size_t chunks, std::size_t streams) {
    return measure_overlap(buffers, &test::kernels(),
                           {PipelineCopies::up, size_bytes, chunks, streams, kQuick});
  };
  EXPECT_THROW(measure(1000, 1, 1), UsageError);
  EXPECT_THROW(measure(kMiB, 3, 1), UsageError);
  EXPECT_THROW(measure(kMiB, 0, 1), UsageError);
  EXPECT_THROW(measure(kMiB, 4, 0), UsageError);
  EXPECT_THROW(measure(2 * kMiB, 4, 2), UsageError);
  EXPECT_THROW(measure_overlap(buffers, nullptr, {PipelineCopies::up, kMiB, 4, 2, kQuick}),
               Unavailable);
}

}  // namespace
}  // namespace isthmus::measure
