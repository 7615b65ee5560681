// What the statistics say that copies should take: the profile's figures, whatever copies took.
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "transfer/carriers/carriers.hpp"
#include "transfer/devices_under_test.hpp"
#include "transfer/made_up_profiles.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

/// A clock that goes on by itself with each call: a copy takes one step.
std::int64_t now_ns = 0;
constexpr std::int64_t kStepNs = 1'000;
std::int64_t test_clock_ns() { return now_ns += kStepNs; }
constexpr double kStepSeconds = 1e-6;

/// Downloads by the driver.
class CopyPredictionsTest : public DevicesUnderTest {
protected:
  void SetUp() override {
    DevicesUnderTest::SetUp();
    if (IsSkipped()) return;
    carriers_.emplace(driver(), std::chrono::microseconds{20}, test_clock_ns);
    device_ = device_memory(kBytes);
    host_ = pinned_memory<std::uint8_t>(kBytes);
  }
  void TearDown() override {
    carriers_.reset();
    DevicesUnderTest::TearDown();
  }

  /// Some copies, each after a pause or not.
  PathUse copied(double seconds, double pause_seconds, bool after_pause) {
    devices_->at(0).use(std::make_shared<const Profile>(
        profile_with_pauses({{CopyPath::driver, seconds, pause_seconds}})));
    const Crossing crossing{Direction::device_to_host, MemoryKind::pinned, kBytes, after_pause};
    Plan plan(ends_of(crossing, host_, reinterpret_cast<void*>(device_)), crossing,
              &devices_->at(0), CopyPath::driver);
    plan.predicted_seconds = seconds;
    for (int i = 0; i < kNumCopies; ++i) carriers_->carry(plan, {}, now_ns);
    for (const PathUse& one : carriers_->statistics().uses())
      if (one.path == CopyPath::driver) return one;
    return {};
  }

  static constexpr std::size_t kBytes = 20 * kKiB;
  static constexpr int kNumCopies = 40;
  CUdeviceptr device_ = 0;
  std::uint8_t* host_ = nullptr;
  std::optional<Carriers> carriers_;
};

TEST_F(CopyPredictionsTest, AreTheProfilesThoughCopiesTakeTenTimesAsLong) {
  const PathUse use = copied(kStepSeconds / 10, 0, false);
  EXPECT_EQ(use.num_copies, std::uint64_t{kNumCopies});
  EXPECT_NEAR(use.seconds, kNumCopies * kStepSeconds, 1e-12);
  EXPECT_NEAR(use.seconds / use.predicted_seconds, 10, 1e-6);
}

TEST_F(CopyPredictionsTest, OfCopiesAfterPausesContainWhatTheProfileSaysOfPauses) {
  const PathUse use = copied(4 * kStepSeconds, 6 * kStepSeconds, true);
  EXPECT_NEAR(use.predicted_seconds / use.seconds, 10, 1e-6);
}

TEST_F(CopyPredictionsTest, LeaveTheChoiceAsItIs) {
  const auto choice = [&] {
    return devices_->at(0).best({Direction::device_to_host, MemoryKind::pinned, kBytes, true},
                                false);
  };
  copied(kStepSeconds / 10, kStepSeconds / 10, true);
  EXPECT_DOUBLE_EQ(choice().seconds, kStepSeconds / 5) << "nothing is learned of 40 slow copies";
}

}  // namespace
}  // namespace isthmus::transfer
