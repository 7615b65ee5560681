// Copies of blocks by index: all ways must bring the same bytes.
#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "measure/bandwidth/block_copies.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 2, .max_samples = 2, .max_seconds = 0.2};

class BlockCopies : public testing::TestWithParam<BlockCopiesWay> {
protected:
  Measurement measure(Direction direction, std::size_t block_bytes, std::size_t num_blocks) {
    return measure_block_copies(test::context(), &test::kernels(),
                                {direction, GetParam(), block_bytes, num_blocks, 2, kQuick});
  }
};

TEST_P(BlockCopies, ArriveBothWaysWhateverTheirSize) {
  for (const Direction direction : {Direction::host_to_device, Direction::device_to_host})
    for (const auto& [block_bytes, num_blocks] :
         {std::pair{16UL, 1UL}, {512UL, 100UL}, {4096UL, 33UL}, {65536UL, 5UL}}) {
      const Measurement measured = measure(direction, block_bytes, num_blocks);
      ASSERT_EQ(measured.samples.size(), 2U);
      EXPECT_EQ(measured.samples[1].metric, "completion");
      EXPECT_EQ(measured.verified_on, VerifiedOn::host);
    }
}

TEST_P(BlockCopies, AreCorruptIfTheBytesNeverArrive) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  const test::EmulatorControls controls(test::driver());
  controls.swallow_calls("cuLaunchKernel");
  controls.swallow_calls("cuMemcpyBatchAsync");
  EXPECT_THROW(measure(Direction::host_to_device, 4096, 16), CorruptTransfer);
  EXPECT_THROW(measure(Direction::device_to_host, 4096, 16), CorruptTransfer);
  controls.reset();
}

TEST_P(BlockCopies, OfOddSizesOrNoneAreRefused) {
  EXPECT_THROW(measure(Direction::host_to_device, 100, 16), UsageError);
  EXPECT_THROW(measure(Direction::host_to_device, 0, 16), UsageError);
  EXPECT_THROW(measure(Direction::host_to_device, 16, 0), UsageError);
}

INSTANTIATE_TEST_SUITE_P(Ways, BlockCopies,
                         testing::Values(BlockCopiesWay::kernel, BlockCopiesWay::batch,
                                         BlockCopiesWay::batch_in_order),
                         [](const auto& test) {
                           return words_of(test.param)[static_cast<std::size_t>(test.param)];
                         });

TEST(BlockCopiesAlone, WithoutKernelsHaveTheBatchOnly) {
  EXPECT_THROW(
      measure_block_copies(test::context(), nullptr,
                           {Direction::host_to_device, BlockCopiesWay::kernel, 512, 8, 2, kQuick}),
      Unavailable);
}

}  // namespace
}  // namespace isthmus::measure
