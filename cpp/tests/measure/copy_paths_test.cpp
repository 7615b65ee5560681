// Copies by each way on whatever driver there is. Times are checked only for sense.
#include "measure/copy_paths.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kQuick{.min_samples = 3, .max_samples = 5, .max_seconds = 0.05};
constexpr std::size_t kMostBytes = std::size_t{2} << 20U;
constexpr CopyPath kPaths[] = {CopyPath::window, CopyPath::window_threads, CopyPath::driver,
                               CopyPath::staged, CopyPath::registered};
constexpr Direction kDirections[] = {Direction::host_to_device, Direction::device_to_host};

class CopyPaths : public testing::Test {
protected:
  /// Nothing if this way can't here; its reason must then be said.
  std::optional<Measurement> measure(CopyPath path, Direction direction, std::size_t size_bytes) {
    try {
      return measure_copy_path(transfers_, buffers_, {path, direction, size_bytes, kQuick});
    } catch (const Unavailable& absence) {
      EXPECT_NE(absence.reason(), "") << name_of(path);
      return std::nullopt;
    }
  }

  std::vector<std::byte> host_bytes() const {
    return {buffers_.host(), buffers_.host() + buffers_.size_bytes()};
  }

  Context context_ = test::context();
  Transfers transfers_{test::driver()};
  CopyBuffers buffers_{context_, HostMemory::pageable, kMostBytes, std::nullopt};
};

TEST_F(CopyPaths, EachWayYieldsTheCompletionOfVerifiedCopiesOfOddSizes) {
  for (const CopyPath path : kPaths) {
    for (const Direction direction : kDirections) {
      for (const std::size_t size_bytes : {std::size_t{1}, std::size_t{4097}, kMostBytes - 1}) {
        const auto found = measure(path, direction, size_bytes);
        if (!found) continue;
        ASSERT_EQ(found->samples.size(), 1U) << name_of(path);
        EXPECT_EQ(found->samples[0].metric, "completion");
        EXPECT_GE(found->samples[0].seconds.size(), 3U);
        EXPECT_GT(*std::ranges::min_element(found->samples[0].seconds), 0);
        EXPECT_GT(found->first_call_seconds, 0);
      }
    }
  }
}

TEST_F(CopyPaths, TheDriversWayIsAlwaysThere) {
  for (const Direction direction : kDirections)
    EXPECT_TRUE(measure(CopyPath::driver, direction, 4096).has_value());
}

TEST_F(CopyPaths, TheWayThatWasAskedForIsTheOneThatIsTaken) {
  ASSERT_TRUE(measure(CopyPath::driver, Direction::host_to_device, 64).has_value());
  for (const PathUse& use : transfers_.stats())
    EXPECT_EQ(use.num_copies > 0, use.path == CopyPath::driver) << name_of(use.path);
}

TEST_F(CopyPaths, WithoutTimeTheFewestSamplesAreTaken) {
  const Stopping none{.min_samples = 1, .max_samples = 9, .max_seconds = 0};
  const auto found = measure_copy_path(transfers_, buffers_,
                                       {CopyPath::driver, Direction::host_to_device, 64, none});
  EXPECT_EQ(found.samples[0].seconds.size(), 1U);
}

TEST_F(CopyPaths, CopiesLongEnoughForTheClockAreTimedAlone) {
  const auto large = measure(CopyPath::driver, Direction::host_to_device, kMostBytes);
  ASSERT_TRUE(large.has_value());
  EXPECT_EQ(large->samples[0].copies_per_sample, 1U);
}

TEST_F(CopyPaths, BothSidesHoldTheSameBytesAfterwards) {
  ASSERT_TRUE(measure(CopyPath::driver, Direction::host_to_device, kMostBytes).has_value());
  const std::vector<std::byte> sent = host_bytes();
  ASSERT_TRUE(measure(CopyPath::driver, Direction::device_to_host, kMostBytes).has_value());
  EXPECT_TRUE(sent == host_bytes());
}

TEST_F(CopyPaths, SizesThatTheBuffersDoNotHaveAreRefused) {
  for (const std::size_t size_bytes : {std::size_t{0}, kMostBytes + 1})
    EXPECT_THROW(measure_copy_path(transfers_, buffers_,
                                   {CopyPath::driver, Direction::host_to_device, size_bytes, {}}),
                 UsageError);
}

}  // namespace
}  // namespace isthmus::measure
