// Lives of host buffers, and copies within host memory.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "faults/emulator_controls.hpp"
#include "measure/bandwidth/host_memcpy.hpp"
#include "measure/loops/sampling.hpp"
#include "measure/memory/allocation_cost.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 2, .max_samples = 3, .max_seconds = 0.1};
constexpr std::size_t kMiB = std::size_t{1} << 20U;

MemoryLifeOptions life_of(HostMemory memory, std::size_t size_bytes) {
  MemoryLifeOptions options;
  options.memory = memory;
  options.size_bytes = size_bytes;
  options.stopping = kQuick;
  return options;
}

std::size_t count_of(const Measurement& measurement, const std::string& metric) {
  for (const Samples& samples : measurement.samples) {
    if (samples.metric == metric) return samples.seconds.size();
  }
  return 0;
}

class EachMemory : public testing::TestWithParam<HostMemory> {};

TEST_P(EachMemory, LivesThroughItsStepsSeveralTimes) {
  for (const Kernels* kernels : {&test::kernels(), static_cast<const Kernels*>(nullptr)}) {
    const Measurement measurement =
        measure_memory_life(test::context(), kernels, life_of(GetParam(), 3 * kMiB));
    const std::size_t num_lives = count_of(measurement, "life_one_way");
    EXPECT_GE(num_lives, kQuick.min_samples);
    for (const char* once : {"allocate", "free", "life_upload", "life_download", "life_both_ways"})
      EXPECT_EQ(count_of(measurement, once), num_lives) << once;
    EXPECT_GT(measurement.first_call_seconds, 0);
    EXPECT_EQ(measurement.verified_on, kernels ? VerifiedOn::device : VerifiedOn::host);
  }
}

INSTANTIATE_TEST_SUITE_P(MemoryLife, EachMemory,
                         testing::Values(HostMemory::pageable, HostMemory::pinned,
                                         HostMemory::registered),
                         [](const auto& each) { return std::string(name_of(each.param)); });

TEST(MemoryLife, NoticesCopiesThatNeverHappen) {
  if (!test::driver().emulated()) GTEST_SKIP() << "needs the emulated driver's controls";
  const Context kept = test::context();
  const test::EmulatorControls controls(test::driver());
  for (const char* symbol : {"cuMemcpyHtoD", "cuMemcpyDtoH"}) {
    controls.swallow_calls(symbol);
    for (const HostMemory memory : {HostMemory::pageable, HostMemory::pinned}) {
      EXPECT_THROW(measure_memory_life(kept, &test::kernels(), life_of(memory, kMiB)),
                   CorruptTransfer)
          << symbol;
    }
    controls.reset();
  }
}

TEST(MemoryLife, OfWriteCombinedMemoryIsRefused) {
  EXPECT_THROW(
      measure_memory_life(test::context(), nullptr, life_of(HostMemory::write_combined, kMiB)),
      UsageError);
}

HostMemcpyOptions copy_of(std::size_t size_bytes, int num_threads, HostCopy copy = nullptr) {
  HostMemcpyOptions options;
  options.size_bytes = size_bytes;
  options.num_threads = num_threads;
  options.copy = copy;
  options.stopping = kQuick;
  return options;
}

class EachStores : public testing::TestWithParam<HostStores> {};

TEST_P(EachStores, CopiesAllBytesWithAnyNumberOfThreads) {
  for (const int num_threads : {1, 2, 3}) {
    for (const std::size_t size_bytes : {std::size_t{1}, std::size_t{4097}, 2 * kMiB + 5}) {
      HostMemcpyOptions options = copy_of(size_bytes, num_threads);
      options.stores = GetParam();
      const Measurement found = measure_host_memcpy(options);
      ASSERT_EQ(found.samples.size(), 1U);
      EXPECT_EQ(found.samples[0].metric, "copy_time");
      for (const double seconds : found.samples[0].seconds) EXPECT_GT(seconds, 0);
      EXPECT_GT(found.first_call_seconds, 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(HostMemcpy, EachStores,
                         testing::Values(HostStores::libc, HostStores::cached,
                                         HostStores::streaming));

void copy_nothing(std::byte*, const std::byte*, std::size_t) {}
void copy_backwards(std::byte* target, const std::byte* source, std::size_t size_bytes) {
  std::memcpy(const_cast<std::byte*>(source), target, size_bytes);
}
void copy_all_but_the_last(std::byte* target, const std::byte* source, std::size_t size_bytes) {
  std::memcpy(target, source, size_bytes - 1);
}

TEST(HostMemcpy, NoticesCopiesThatNeverHappen) {
  for (const HostCopy wrong : {copy_nothing, copy_backwards, copy_all_but_the_last})
    EXPECT_THROW(measure_host_memcpy(copy_of(kMiB, 2, wrong)), CorruptTransfer);
}

TEST(HostMemcpy, ShortEnoughIsTimedManyAtATime) {
  const auto found = measure_host_memcpy(copy_of(4096, 1));
  EXPECT_GT(found.samples[0].copies_per_sample, 10U);
}

TEST(HostMemcpy, RefusesInvalidRequests) {
  EXPECT_THROW(measure_host_memcpy(copy_of(0, 1)), UsageError);
  EXPECT_THROW(measure_host_memcpy(copy_of(64, 0)), UsageError);
  HostMemcpyOptions nowhere = copy_of(64, 1);
  nowhere.target_node = 1000;
  EXPECT_THROW(measure_host_memcpy(nowhere), UsageError);
}

}  // namespace
}  // namespace isthmus::measure
