// The cost of memory, on any driver: its metrics, and the refused options.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "faults/emulator_controls.hpp"
#include "measure/loops/sampling.hpp"
#include "measure/memory/allocation_cost.hpp"
#include "measure/memory/allocator_parts.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 4, .max_seconds = 0.1};
constexpr std::size_t kMiB = std::size_t{1} << 20U;

constexpr AllocationKind kKinds[] = {AllocationKind::heap,
                                     AllocationKind::mapping,
                                     AllocationKind::pinned,
                                     AllocationKind::write_combined,
                                     AllocationKind::registered,
                                     AllocationKind::huge_pinned,
                                     AllocationKind::pooled,
                                     AllocationKind::device,
                                     AllocationKind::pitched,
                                     AllocationKind::pitched_3d,
                                     AllocationKind::array,
                                     AllocationKind::array_3d,
                                     AllocationKind::managed,
                                     AllocationKind::stream_ordered,
                                     AllocationKind::stream_ordered_kept,
                                     AllocationKind::virtual_memory};

Measurement measured(AllocationKind kind, std::size_t size_bytes, std::size_t num_live = 3,
                     Touch touch = Touch::untouched) {
  return measure_allocation(test::context(), {kind, touch, size_bytes, num_live, kQuick});
}

std::set<std::string> metrics(const Measurement& measurement) {
  std::set<std::string> names;
  for (const Samples& samples : measurement.samples) names.insert(samples.metric);
  return names;
}

const Samples& samples_of(const Measurement& measurement, const std::string& metric) {
  for (const Samples& samples : measurement.samples) {
    if (samples.metric == metric) return samples;
  }
  throw std::out_of_range(metric);
}

/// The emulated machine's memory, with injected faults.
class EmulatedAllocation : public testing::Test {
protected:
  void SetUp() override {
    if (!test::driver().emulated()) GTEST_SKIP() << "needs the emulated driver's controls";
    controls_.emplace(test::driver());
  }
  void TearDown() override {
    if (controls_) controls_->reset();
  }
  test::EmulatorControls& controls() { return *controls_; }

private:
  std::optional<test::EmulatorControls> controls_;
};

class EachKind : public testing::TestWithParam<AllocationKind> {};

TEST_P(EachKind, IsAllocatedAndFreedOneByOneAndSeveralAtATime) {
  const Measurement measurement = measured(GetParam(), 64 << 10U);
  std::set<std::string> expected{"allocate", "free", "pair", "allocate_live", "free_live"};
  const bool early = GetParam() == AllocationKind::stream_ordered ||
                     GetParam() == AllocationKind::stream_ordered_kept;
  if (early) expected.insert({"allocate_return", "free_return"});
  EXPECT_EQ(metrics(measurement), expected);
  EXPECT_EQ(measurement.waived.size(), early ? 0U : 2U);
  EXPECT_GT(measurement.first_call_seconds, 0);
  for (const Samples& samples : measurement.samples) {
    EXPECT_GE(samples.seconds.size(), kQuick.min_samples) << samples.metric;
    EXPECT_GT(*std::min_element(samples.seconds.begin(), samples.seconds.end()), 0)
        << samples.metric;
  }
}

TEST_P(EachKind, MayBeOfFourBytesAndOfAnOddSize) {
  EXPECT_NO_THROW(measured(GetParam(), 4));
  EXPECT_NO_THROW(measured(GetParam(), 100003));
}

TEST_P(EachKind, LeavesNothingAllocated) {
  if (!test::driver().emulated()) GTEST_SKIP() << "needs the emulated driver's books";
  const Context kept = test::context();
  const test::EmulatorControls controls(test::driver());
  const IsthmusEmulatorLive before = controls.live();
  measured(GetParam(), 3 * kMiB);
  EXPECT_EQ(controls.live(), before);
}

INSTANTIATE_TEST_SUITE_P(Allocation, EachKind, testing::ValuesIn(kKinds), [](const auto& each) {
  std::string name = name_of(each.param);
  std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
  return name;
});

TEST(Allocation, OfTouchedMemoryTakesLongerThanOfUntouched) {
  const auto least = [](Touch touch) {
    const Measurement measurement = measured(AllocationKind::mapping, 16 * kMiB, 1, touch);
    const Samples& samples = samples_of(measurement, "allocate");
    return *std::min_element(samples.seconds.begin(), samples.seconds.end());
  };
  EXPECT_GT(least(Touch::touched), 10 * least(Touch::untouched)) << "4096 pages were not made";
}

TEST(Allocation, OfShortCallsIsTimedManyAtATime) {
  EXPECT_GT(samples_of(measured(AllocationKind::heap, 256), "pair").copies_per_sample, 10U);
  EXPECT_EQ(samples_of(measured(AllocationKind::mapping, 64 * kMiB, 1, Touch::touched), "pair")
                .copies_per_sample,
            1U);
}

TEST(Allocation, OfOneAtATimeWaivesSeveralWithTheReason) {
  const Measurement measurement = measured(AllocationKind::device, kMiB, 1);
  EXPECT_FALSE(metrics(measurement).contains("allocate_live"));
  EXPECT_NE(measurement.waived.at("allocate_live").find("memory"), std::string::npos);
}

TEST(Allocation, ThatIsCopiedIsTimedOneAtATime) {
  for (const AllocationKind kind : {AllocationKind::pinned, AllocationKind::registered_heap}) {
    const Measurement measurement =
        measure_allocation(test::context(), {kind, Touch::touched, 256, 1, kQuick, true});
    EXPECT_EQ(samples_of(measurement, "pair").copies_per_sample, 1U);
  }
}

TEST(Extents, HoldTheirBytesInRowsThatDevicesNeedNotPad) {
  for (std::size_t size_bytes = 4; size_bytes <= std::size_t{1} << 30U; size_bytes *= 2) {
    for (const Extent& extent : {near_square(size_bytes), near_cube(size_bytes)}) {
      EXPECT_EQ(extent.size_bytes(), size_bytes);
      EXPECT_GE(extent.width_bytes, std::min<std::size_t>(size_bytes, 512));
    }
  }
  const Extent cube = near_cube(256 * kMiB);
  EXPECT_EQ(cube.width_bytes, 1024U);
  EXPECT_EQ(cube.num_rows, 1024U);
  EXPECT_EQ(cube.num_slices, 256U);
}

TEST(Extents, OfOddSizesHoldAtLeastTheirBytes) {
  for (const std::size_t size_bytes : {5UL, 100003UL, 3UL << 20U}) {
    for (const Extent& extent : {near_square(size_bytes), near_cube(size_bytes)}) {
      EXPECT_GE(extent.size_bytes(), size_bytes);
      EXPECT_LT(extent.size_bytes(), 2 * size_bytes + 8);
      EXPECT_EQ(extent.width_bytes % 4, 0U);
    }
  }
}

TEST(Allocation, RefusesInvalidRequests) {
  EXPECT_THROW(measured(AllocationKind::heap, 0), UsageError);
  EXPECT_THROW(measured(AllocationKind::heap, 64, 0), UsageError);
  EXPECT_THROW(measured(AllocationKind::device, 64, 1, Touch::touched), UsageError);
  EXPECT_THROW(measure_allocation(test::context(),
                                  {AllocationKind::device, Touch::untouched, 64, 1, kQuick, true}),
               UsageError);
}

struct Swallowed {
  AllocationKind kind;
  const char* symbol;
};

std::ostream& operator<<(std::ostream& out, const Swallowed& each) { return out << each.symbol; }

class EachCall : public EmulatedAllocation, public testing::WithParamInterface<Swallowed> {};

TEST_P(EachCall, ThatNeverHappenedIsNoticed) {
  const Context kept = test::context();
  controls().swallow_calls(GetParam().symbol);
  EXPECT_THROW(measured(GetParam().kind, kMiB), CorruptTransfer);
}

INSTANTIATE_TEST_SUITE_P(
    Allocation, EachCall,
    testing::Values(Swallowed{AllocationKind::pinned, "cuMemHostAlloc"},
                    Swallowed{AllocationKind::pinned, "cuMemFreeHost"},
                    Swallowed{AllocationKind::write_combined, "cuMemHostAlloc"},
                    Swallowed{AllocationKind::device, "cuMemAlloc"},
                    Swallowed{AllocationKind::device, "cuMemFree"},
                    Swallowed{AllocationKind::pitched, "cuMemAllocPitch"},
                    Swallowed{AllocationKind::array, "cuArrayCreate"},
                    Swallowed{AllocationKind::array, "cuMemcpy3D"},
                    Swallowed{AllocationKind::array_3d, "cuArray3DCreate"},
                    Swallowed{AllocationKind::managed, "cuMemAllocManaged"},
                    Swallowed{AllocationKind::managed, "cuMemFree"},
                    Swallowed{AllocationKind::stream_ordered, "cuMemAllocAsync"}));

TEST_F(EmulatedAllocation, ThatWasNeverRegisteredIsNoticedByTheDriverItself) {
  for (const char* symbol : {"cuMemHostRegister", "cuMemHostUnregister"}) {
    const Context kept = test::context();
    controls().swallow_calls(symbol);
    EXPECT_THROW(measured(AllocationKind::registered, kMiB), DriverError) << symbol;
    controls().reset();
  }
}

TEST_F(EmulatedAllocation, ThatRunsOutFreesWhatItHad) {
  const Context kept = test::context();
  const IsthmusEmulatorLive before = controls().live();
  controls().fail_call("cuMemAlloc", 12, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_THROW(measured(AllocationKind::device, kMiB, 64), OutOfDeviceMemory);
  EXPECT_EQ(controls().live(), before);
}

TEST_F(EmulatedAllocation, ThatADeviceDoesNotSupportIsUnavailable) {
  controls().fail_call("cuMemAllocManaged", 1, CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THROW(measured(AllocationKind::managed, kMiB), Unavailable);
}

TEST_F(EmulatedAllocation, FromAPoolLeavesThePoolsThresholdAsItWas) {
  const Context context = test::context();
  const Driver& driver = context.driver();
  CUmemoryPool pool = nullptr;
  driver.call(symbol::device_get_default_mem_pool)(&pool, 0);
  cuuint64_t threshold_bytes = 12345;
  driver.call(symbol::mem_pool_set_attribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                              static_cast<void*>(&threshold_bytes));
  measured(AllocationKind::stream_ordered_kept, kMiB);
  cuuint64_t after_bytes = 0;
  driver.call(symbol::mem_pool_get_attribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                              static_cast<void*>(&after_bytes));
  EXPECT_EQ(after_bytes, threshold_bytes);
  threshold_bytes = 0;
  driver.call(symbol::mem_pool_set_attribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                              static_cast<void*>(&threshold_bytes));
}

}  // namespace
}  // namespace isthmus::measure
