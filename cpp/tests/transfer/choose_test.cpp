// When the driver's copy is tried after a pause, although another path is the cheapest.
#include "transfer/copy/choose.hpp"

#include <memory>
#include <optional>
#include <vector>

#include "transfer/devices_under_test.hpp"
#include "transfer/made_up_profiles.hpp"

namespace isthmus::transfer {
namespace {

/// Downloads to pinned memory after a pause, where a window takes two thirds of the driver's time.
class CopiesAfterAPause : public DevicesUnderTest {
protected:
  void SetUp() override {
    DevicesUnderTest::SetUp();
    if (IsSkipped()) return;
    devices_->at(0).use(std::make_shared<const Profile>(
        profile_with_pauses({{CopyPath::driver, 10e-6, 20e-6}, {CopyPath::window, 10e-6, 10e-6}})));
    chooser_.emplace(driver(), *devices_, *windows_);
    device_ = device_memory(kBytes);
    task_ = examine(driver(), *memory_, pinned_memory(kBytes), reinterpret_cast<void*>(device_),
                    kBytes, request_, true);
    task_.crossing.after_pause = true;
  }
  void TearDown() override {
    chooser_.reset();
    DevicesUnderTest::TearDown();
  }

  void open_window() { windows_->open(task_.device_range(), task_.device_address(), kBytes); }
  Plan planned() { return chooser_->ready(task_, request_); }
  /// Which of so many copies are tries.
  std::vector<int> tries(int num_copies) {
    std::vector<int> found;
    for (int i = 0; i < num_copies; ++i)
      if (planned().is_try) found.push_back(i);
    return found;
  }

  static constexpr std::size_t kBytes = 64 * kKiB;
  Request request_;
  Task task_;

private:
  CUdeviceptr device_ = 0;
  std::optional<Chooser> chooser_;
};

TEST_F(CopiesAfterAPause, TryTheDriverInPlaceOfAnOpenWindowNowAndThen) {
  open_window();
  ASSERT_EQ(planned().path, CopyPath::window);
  const Plan tried = planned();
  EXPECT_EQ(tried.path, CopyPath::driver);
  EXPECT_TRUE(tried.is_try);
  EXPECT_EQ(tried.window, nullptr);
  EXPECT_EQ(tried.profile, nullptr) << "a plan with a profile would be kept for more copies";
  EXPECT_DOUBLE_EQ(tried.predicted_seconds, 30e-6);
  EXPECT_EQ(tries(30), (std::vector<int>{15}));
}

TEST_F(CopiesAfterAPause, TryNothingWhileTheDriverCopiesAnyway) {
  int num_by_driver = 0;
  for (; num_by_driver < 40; ++num_by_driver) {
    const Plan plan = planned();
    if (plan.window != nullptr) break;
    EXPECT_EQ(plan.path, CopyPath::driver);
    EXPECT_FALSE(plan.is_try) << "copy " << num_by_driver;
  }
  EXPECT_GT(num_by_driver, 1) << "the second copy is the first that may be a try";
}

TEST_F(CopiesAfterAPause, TryNothingBackToBackNorByNameNorWithMemoryThatMayVanish) {
  open_window();
  task_.ends.target_may_vanish = true;
  EXPECT_TRUE(tries(40).empty());
  task_.ends.target_may_vanish = false;
  task_.crossing.after_pause = false;
  EXPECT_TRUE(tries(40).empty());
  task_.crossing.after_pause = true;
  request_.path = CopyPath::window;
  EXPECT_TRUE(tries(40).empty());
  request_.path.reset();
  EXPECT_FALSE(tries(40).empty());
}

}  // namespace
}  // namespace isthmus::transfer
