// How the copies of one call are made.
#include "transfer/many/choose_many.hpp"

#include <optional>
#include <vector>

#include "transfer/devices_under_test.hpp"

namespace isthmus::transfer {
namespace {

/// A download to pageable memory and an upload from pinned memory, both through open windows and in
/// one stream.
class CopiesThroughWindows : public DevicesUnderTest {
protected:
  void SetUp() override {
    DevicesUnderTest::SetUp();
    if (IsSkipped()) return;
    chooser_.emplace(driver(), *devices_, *windows_);
    stream_ = stream();
  }
  void TearDown() override {
    chooser_.reset();
    DevicesUnderTest::TearDown();
  }

  Member member(void* target, const void* source, Return when, Return returns_alone) {
    Request request;
    request.stream = stream_;
    request.when = when;
    const Task task = examine(driver(), *memory_, target, source, kBytes, request, true);
    if (windows_->find(task.device_address(), kBytes) == nullptr)
      windows_->open(task.device_range(), task.device_address(), kBytes);
    return {task, request, returns_alone};
  }
  std::vector<PlannedCopies> planned(Return when, Return download_returns, Return upload_returns) {
    const CUdeviceptr device = device_memory(2 * kMiB);
    const std::vector<Member> members{
        member(host_.data(), reinterpret_cast<void*>(device), when, download_returns),
        member(reinterpret_cast<void*>(device + kMiB), pinned_memory(kBytes), when,
               upload_returns)};
    return ManyChooser(driver(), *devices_, *windows_, *chooser_).ready(members);
  }

  static constexpr std::size_t kBytes = 4;
  Bytes host_ = Bytes(kBytes);
  CUstream stream_ = nullptr;
  std::optional<Chooser> chooser_;
};

TEST_F(CopiesThroughWindows, OfABlockingCallWaitOnceForTheirStream) {
  const auto copies = planned(Return::complete, Return::complete, Return::complete);
  ASSERT_EQ(copies.size(), 2U);
  for (const PlannedCopies& copy : copies) ASSERT_TRUE(is_window(copy.plan.path));
  EXPECT_TRUE(copies[0].request.ordered);
  EXPECT_FALSE(copies[1].request.ordered);
}

TEST_F(CopiesThroughWindows, DoNotRelyOnACopyThatTheBackgroundMakes) {
  const auto copies = planned(Return::source_free, Return::source_free, Return::complete);
  ASSERT_EQ(copies.size(), 2U);
  for (const PlannedCopies& copy : copies) ASSERT_TRUE(is_window(copy.plan.path));
  EXPECT_TRUE(copies[0].request.ordered);
  EXPECT_TRUE(copies[1].request.ordered);
}

}  // namespace
}  // namespace isthmus::transfer
