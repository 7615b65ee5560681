// Managed memory and pointer chases, which need no CopyBuffers.
#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "measure/latency/latency.hpp"
#include "measure/loops/sampling.hpp"
#include "measure/memory/managed_memory.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 5, .max_seconds = 0.2};
constexpr std::size_t kSizeBytes = std::size_t{1} << 20U;

ManagedOptions managed(Direction direction, ManagedWay way, std::size_t size_bytes = kSizeBytes) {
  return {direction, way, size_bytes, kQuick};
}

struct Crossing {
  Direction direction;
  ManagedWay way;
  const char* name;
};

std::ostream& operator<<(std::ostream& out, const Crossing& crossing) {
  return out << crossing.name;
}

class ManagedMemory : public testing::TestWithParam<Crossing> {
protected:
  bool thrashes() const {
    return GetParam().way == ManagedWay::thrashing ||
           GetParam().way == ManagedWay::thrashing_random;
  }
  std::size_t least_bytes() const { return thrashes() ? kMinThrashingBytes : 1; }
  ManagedOptions options() const { return options(thrashes() ? kMinThrashingBytes : kSizeBytes); }
  ManagedOptions options(std::size_t size_bytes) const {
    return managed(GetParam().direction, GetParam().way, size_bytes);
  }
  /// The driver function that moves the bytes.
  const char* symbol() const {
    return GetParam().way == ManagedWay::prefetched ? "cuMemPrefetchAsync" : "cuLaunchKernel";
  }
};

TEST_P(ManagedMemory, IsTimedAndComparedForOddSizes) {
  const std::size_t least = least_bytes();
  for (const std::size_t size_bytes : {least, least + 4098, least + kSizeBytes}) {
    const Measurement found =
        measure_managed(test::context(), &test::kernels(), options(size_bytes));
    ASSERT_EQ(found.samples.size(), 1U);
    EXPECT_EQ(found.samples[0].metric, "copy_time");
    EXPECT_GE(found.samples[0].seconds.size(), kQuick.min_samples);
    EXPECT_EQ(found.verified_on, GetParam().direction == Direction::host_to_device
                                     ? VerifiedOn::device
                                     : VerifiedOn::host);
  }
}

TEST_P(ManagedMemory, ThatNeverCrossedIsCorrupt) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  const test::EmulatorControls controls(test::driver());
  controls.swallow_calls(symbol());
  EXPECT_THROW(measure_managed(test::context(), &test::kernels(), options()), CorruptTransfer);
  controls.reset();
}

TEST_P(ManagedMemory, NeedsKernels) {
  EXPECT_THROW(measure_managed(test::context(), nullptr, options()), Unavailable);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, ManagedMemory,
    testing::Values(Crossing{Direction::host_to_device, ManagedWay::demand, "demand_h2d"},
                    Crossing{Direction::device_to_host, ManagedWay::demand, "demand_d2h"},
                    Crossing{Direction::host_to_device, ManagedWay::demand_random, "random_h2d"},
                    Crossing{Direction::host_to_device, ManagedWay::thrashing, "thrashing_h2d"},
                    Crossing{Direction::host_to_device, ManagedWay::thrashing_random,
                             "thrashing_random_h2d"},
                    Crossing{Direction::host_to_device, ManagedWay::prefetched, "prefetched_h2d"},
                    Crossing{Direction::device_to_host, ManagedWay::prefetched, "prefetched_d2h"},
                    Crossing{Direction::host_to_device, ManagedWay::advised, "advised_h2d"},
                    Crossing{Direction::device_to_host, ManagedWay::advised, "advised_d2h"}),
    [](const auto& test) { return test.param.name; });

TEST(ManagedSizes, AreAtMostHalfAGibibyte) {
  const auto way = ManagedWay::demand;
  EXPECT_THROW(measure_managed(test::context(), &test::kernels(),
                               managed(Direction::host_to_device, way, kMaxManagedBytes + 1)),
               UsageError);
  EXPECT_THROW(measure_managed(test::context(), &test::kernels(),
                               managed(Direction::host_to_device, way, 0)),
               UsageError);
}

TEST(ManagedMemoryInARandomOrderOrAgain, IsReadByKernelsOnly) {
  for (const ManagedWay way :
       {ManagedWay::demand_random, ManagedWay::thrashing, ManagedWay::thrashing_random}) {
    EXPECT_THROW(measure_managed(test::context(), &test::kernels(),
                                 managed(Direction::device_to_host, way, kMinThrashingBytes)),
                 UsageError);
  }
}

TEST(ManagedMemoryThatThrashes, HasSomeBlocks) {
  EXPECT_THROW(measure_managed(test::context(), &test::kernels(),
                               managed(Direction::host_to_device, ManagedWay::thrashing,
                                       kMinThrashingBytes - 1)),
               UsageError);
}

TEST(FilledDevices, LeaveWhatWasAskedForAndGiveTheRestBack) {
  if (!test::driver().emulated()) GTEST_SKIP() << "fills the device";
  const Context context = test::context();
  const std::size_t before = context.free_memory_bytes();
  {
    const FilledDevice rest(context, kMinThrashingBytes);
    EXPECT_GE(context.free_memory_bytes(), kMinThrashingBytes);
    EXPECT_LT(context.free_memory_bytes(), kMinThrashingBytes + (std::size_t{2} << 20U));
    EXPECT_THROW(FilledDevice(context, 2 * kMinThrashingBytes), Unavailable);
  }
  EXPECT_EQ(context.free_memory_bytes(), before);
}

TEST(ManagedSizes, AreNeverMoreThanTheDeviceHasFree) {
  if (!test::driver().emulated()) GTEST_SKIP() << "fills the device";
  const Context context = test::context();
  const DeviceBuffer rest(context, context.free_memory_bytes() - (std::size_t{4} << 20U));
  EXPECT_THROW(measure_managed(
                   context, &test::kernels(),
                   managed(Direction::host_to_device, ManagedWay::demand, std::size_t{8} << 20U)),
               Unavailable);
}

TEST(PageFaults, AreTimedOnBothSidesAndCompared) {
  const Measurement found = measure_page_faults(test::context(), &test::kernels(), {4, kQuick});
  ASSERT_EQ(found.samples.size(), 2U);
  EXPECT_EQ(found.samples[0].metric, "device_fault");
  EXPECT_EQ(found.samples[1].metric, "host_fault");
  for (const Samples& samples : found.samples) {
    EXPECT_EQ(samples.copies_per_sample, 4U);
    EXPECT_GT(samples.seconds.at(0), 0);
  }
}

TEST(PageFaults, OfAKernelThatNeverRanAreCorrupt) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  const test::EmulatorControls controls(test::driver());
  controls.swallow_calls("cuLaunchKernel");
  EXPECT_THROW(measure_page_faults(test::context(), &test::kernels(), {4, kQuick}),
               CorruptTransfer);
  controls.reset();
}

TEST(PageFaults, NeedKernelsAndTwoTo256Pages) {
  EXPECT_THROW(measure_page_faults(test::context(), nullptr, {4, kQuick}), Unavailable);
  for (const std::size_t num_pages : {1, 257}) {
    EXPECT_THROW(measure_page_faults(test::context(), &test::kernels(), {num_pages, kQuick}),
                 UsageError);
  }
}

class PointerChase : public testing::TestWithParam<ChaseOrder> {};

TEST_P(PointerChase, VisitsEveryLineOnceARound) {
  const Measurement found = measure_pointer_chase(test::context(), &test::kernels(),
                                                  {1 << 16, GetParam(), std::nullopt, kQuick});
  ASSERT_EQ(found.samples.size(), 1U);
  EXPECT_EQ(found.samples[0].metric, "access_latency");
  EXPECT_EQ(found.samples[0].copies_per_sample, (1U << 16U) / 128);
  EXPECT_GT(found.samples[0].seconds.at(0), 0);
}

TEST_P(PointerChase, ThatNeverRanIsCorrupt) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  const test::EmulatorControls controls(test::driver());
  controls.swallow_calls("cuLaunchKernel");
  EXPECT_THROW(measure_pointer_chase(test::context(), &test::kernels(),
                                     {1 << 16, GetParam(), std::nullopt, kQuick}),
               CorruptTransfer);
  controls.reset();
}

INSTANTIATE_TEST_SUITE_P(Orders, PointerChase,
                         testing::Values(ChaseOrder::strided, ChaseOrder::random),
                         [](const auto& test) {
                           return test.param == ChaseOrder::strided ? "strided" : "random";
                         });

TEST(PointerChases, NeedKernelsAndAFewLines) {
  const PointerChaseOptions options{1 << 16, ChaseOrder::strided, std::nullopt, kQuick};
  EXPECT_THROW(measure_pointer_chase(test::context(), nullptr, options), Unavailable);
  PointerChaseOptions tiny = options;
  tiny.size_bytes = 128 * 15;
  EXPECT_THROW(measure_pointer_chase(test::context(), &test::kernels(), tiny), UsageError);
}

}  // namespace
}  // namespace isthmus::measure
