// The memory of a copy is kept until nothing uses it: awaited or dropped, complete, failed, or
// unknown.
#include "transfer/copy/copy_keeper.hpp"

#include <functional>
#include <future>
#include <thread>

#include <isthmus/errors.hpp>

#include "eventually.hpp"
#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr int kLaunchFailed = 719;

/// What happened to a copy's needs.
struct Fate {
  std::atomic<bool> let_go{false};
  std::atomic<int> num_follow_ups{0};
  std::atomic<bool> let_go_before_follow_up{false};
};

class WatchedNeeds final : public CopyNeeds {
public:
  enum class FollowUp { none, succeeds, fails };
  explicit WatchedNeeds(Fate& fate, FollowUp follow_up = FollowUp::none)
      : fate_(fate), follow_up_(follow_up) {}
  ~WatchedNeeds() override { fate_.let_go = true; }

  bool has_follow_up() const noexcept override { return follow_up_ != FollowUp::none; }
  void follow_up() override {
    if (!has_follow_up()) return;
    ++fate_.num_follow_ups;
    if (follow_up_ == FollowUp::fails) throw UsageError("it can't be followed up");
  }

private:
  Fate& fate_;
  FollowUp follow_up_;
};

class CopyKeeperTest : public TransfersUnderTest {
protected:
  using FollowUp = WatchedNeeds::FollowUp;

  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (IsSkipped()) return;
    device_ = device_memory(kMiB);
    pinned_ = pinned_memory(kMiB);
    own_ = stream();
    keeper_ = std::make_unique<CopyKeeper>([this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      reports_.push_back(text);
    });
  }
  void TearDown() override {
    if (keeper_ != nullptr && !keeper_->end(seconds(60))) (void)keeper_.release();
    TransfersUnderTest::TearDown();
  }

  /// A download to pinned memory, complete when its stream reaches its end.
  std::shared_ptr<KeptCopy> begin(FollowUp follow_up = FollowUp::none) {
    return keeper_->begin(std::make_unique<WatchedNeeds>(fate_, follow_up), [this] {
      return transfers().copy_async(pinned_, to_pointer(device_), kMiB, in(own_));
    });
  }
  /// A copy by the background thread, which fails.
  std::shared_ptr<KeptCopy> begin_failing(Bytes& target) {
    const isthmus::test::EmulatorControls emulator(driver());
    for (const char* const symbol : {"cuMemcpyDtoHAsync", "cuMemcpyDtoH"})
      emulator.fail_calls(symbol, kLaunchFailed);
    return keeper_->begin(std::make_unique<WatchedNeeds>(fate_), [&] {
      return transfers().copy_async(target.data(), to_pointer(device_), target.size(), in(own_));
    });
  }
  bool ends(const std::shared_ptr<KeptCopy>& copy) {
    return isthmus::test::eventually([&] { return keeper_->ask_waiting(copy); });
  }
  std::size_t num_reports() {
    const std::lock_guard lock(mutex_);
    return reports_.size();
  }
  void require_emulated() {
    if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver fails when asked to";
  }

  Fate fate_;
  CUdeviceptr device_ = 0;
  std::uint8_t* pinned_ = nullptr;
  CUstream own_ = nullptr;
  std::mutex mutex_;
  std::vector<std::string> reports_;
  std::unique_ptr<CopyKeeper> keeper_;
};

TEST_F(CopyKeeperTest, AQuestionAfterTheEndDropsTheNeedsOfTheCopy) {
  contract::Gate held = gate();
  held.hold(own_);
  const auto copy = begin();
  EXPECT_FALSE(keeper_->ask(copy));
  EXPECT_FALSE(fate_.let_go);
  held.open();
  synchronize(own_);
  // While the thread is just ending the copy, it isn't over for others.
  EXPECT_TRUE(isthmus::test::eventually([&] { return keeper_->ask(copy); }));
  EXPECT_TRUE(fate_.let_go);
  EXPECT_NO_THROW(copy->rethrow());
}

TEST_F(CopyKeeperTest, TheThreadDropsTheNeedsOfADroppedCopy) {
  contract::Gate held = gate();
  held.hold(own_);
  keeper_->drop(begin());
  EXPECT_FALSE(fate_.let_go);
  held.open();
  EXPECT_TRUE(isthmus::test::eventually([&] { return fate_.let_go.load(); }));
  EXPECT_EQ(num_reports(), 0U);
}

TEST_F(CopyKeeperTest, TheThreadDropsNeedsWhereTheyAreDestroyedTogether) {
  std::atomic<bool> dropped_there{false};
  keeper_ = std::make_unique<CopyKeeper>([](const std::string&) {},
                                         [&](const std::function<void()>& drop) {
                                           EXPECT_FALSE(fate_.let_go);
                                           drop();
                                           dropped_there = fate_.let_go.load();
                                         });
  keeper_->drop(begin());
  EXPECT_TRUE(isthmus::test::eventually([&] { return dropped_there.load(); }));
}

TEST_F(CopyKeeperTest, TheThreadDropsTheNeedsOfACopyThatNobodyAsksAbout) {
  const auto copy = begin();
  EXPECT_TRUE(isthmus::test::eventually([&] { return copy->ended(); }));
  EXPECT_TRUE(fate_.let_go);
}

TEST_F(CopyKeeperTest, ABlockedCopyHoldsUpNoOther) {
  contract::Gate held = gate();
  held.hold(own_);
  const auto blocked = begin();
  keeper_->drop(blocked);
  Fate other;
  const CUstream free_stream = stream();
  keeper_->drop(keeper_->begin(std::make_unique<WatchedNeeds>(other), [&] {
    return transfers().copy_async(pinned_, to_pointer(device_), kMiB, in(free_stream));
  }));
  EXPECT_TRUE(isthmus::test::eventually([&] { return other.let_go.load(); }));
  EXPECT_FALSE(fate_.let_go);
  held.open();
  EXPECT_TRUE(ends(blocked));
}

TEST_F(CopyKeeperTest, TheFollowUpRunsOnceBeforeTheCopyHasEnded) {
  contract::Gate held = gate();
  held.hold(own_);
  const auto copy = begin(FollowUp::succeeds);
  EXPECT_FALSE(keeper_->ask(copy));
  EXPECT_EQ(fate_.num_follow_ups, 0);
  held.open();
  EXPECT_TRUE(ends(copy));
  EXPECT_EQ(fate_.num_follow_ups, 1);
  EXPECT_TRUE(fate_.let_go);
}

TEST_F(CopyKeeperTest, TheFollowUpOfADroppedCopyRunsToo) {
  keeper_->drop(begin(FollowUp::succeeds));
  EXPECT_TRUE(isthmus::test::eventually([&] { return fate_.let_go.load(); }));
  EXPECT_EQ(fate_.num_follow_ups, 1);
}

TEST_F(CopyKeeperTest, AnErrorOfTheFollowUpIsTheCopysError) {
  const auto copy = begin(FollowUp::fails);
  EXPECT_TRUE(ends(copy));
  EXPECT_TRUE(fate_.let_go);
  EXPECT_TRUE(says(message_of<UsageError>([&] { copy->rethrow(); }), "followed up"));
}

TEST_F(CopyKeeperTest, AFailureThatNobodyHasSeenIsReportedWhenTheCopyIsDropped) {
  require_emulated();
  if (IsSkipped()) return;
  Bytes target(kMiB);
  const auto copy = begin_failing(target);
  EXPECT_TRUE(ends(copy));
  EXPECT_TRUE(fate_.let_go) << "the copy failed, and is known to be idle";
  EXPECT_EQ(num_reports(), 0U);
  keeper_->drop(copy);
  EXPECT_TRUE(isthmus::test::eventually([&] { return num_reports() == 1U; }));
  EXPECT_TRUE(says(reports_.front(), "LAUNCH_FAILED")) << reports_.front();
  isthmus::test::EmulatorControls(driver()).reset();
}

TEST_F(CopyKeeperTest, AFailureThatSomebodyHasSeenIsNotReported) {
  require_emulated();
  if (IsSkipped()) return;
  Bytes target(kMiB);
  const auto copy = begin_failing(target);
  EXPECT_TRUE(ends(copy));
  EXPECT_THROW(copy->rethrow(), DriverError);
  isthmus::test::EmulatorControls(driver()).reset();
  keeper_->drop(copy);
  EXPECT_TRUE(keeper_->end(seconds(60)));
  EXPECT_EQ(num_reports(), 0U);
}

TEST_F(CopyKeeperTest, ACopyWhoseEndIsUnknownIsKeptForEver) {
  require_emulated();
  if (IsSkipped()) return;
  const isthmus::test::EmulatorControls emulator(driver());
  contract::Gate held = gate();
  held.hold(own_);
  const auto copy = begin();
  emulator.fail_calls("cuEventQuery", kLaunchFailed);
  EXPECT_TRUE(ends(copy)) << "nobody waits for the gate";
  try {
    copy->rethrow();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DriverError& error) {
    EXPECT_TRUE(error.memory_in_use());
    EXPECT_TRUE(says(error.what(), "must be kept until the process ends")) << error.what();
  }
  emulator.reset();
  held.open();
  synchronize(own_);
  keeper_->drop(copy);
  EXPECT_TRUE(keeper_->end(seconds(60)));
  EXPECT_FALSE(fate_.let_go);
}

TEST_F(CopyKeeperTest, ACopyThatCannotBeginLetsGoAtOnce) {
  EXPECT_THROW(keeper_->begin(std::make_unique<WatchedNeeds>(fate_),
                              []() -> CopyFuture { throw UsageError("no"); }),
               UsageError);
  EXPECT_TRUE(fate_.let_go);
}

TEST_F(CopyKeeperTest, ACopyThatMayHaveBegunThoughItFailedKeepsItsNeeds) {
  const DriverError failure(kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "cuMemcpyAsync", "");
  EXPECT_THROW(keeper_->begin(std::make_unique<WatchedNeeds>(fate_),
                              [&]() -> CopyFuture {
                                failure.throw_of_memory_in_use();
                                return {};
                              }),
               DriverError);
  EXPECT_FALSE(fate_.let_go);
}

TEST_F(CopyKeeperTest, TheEndWaitsForCopies) {
  contract::Gate held = gate();
  held.hold(own_);
  keeper_->drop(begin());
  EXPECT_FALSE(keeper_->end(milliseconds(20)));
  EXPECT_FALSE(fate_.let_go);
  held.open();
  EXPECT_TRUE(keeper_->end(seconds(60)));
  EXPECT_TRUE(fate_.let_go);
}

TEST_F(CopyKeeperTest, ACopyThatBeginsAfterTheEndDoesNotDelayIt) {
  EXPECT_TRUE(keeper_->end(seconds(60)));
  contract::Gate held = gate();
  held.hold(own_);
  keeper_->drop(begin());
  EXPECT_TRUE(keeper_->end(seconds(60)));
  EXPECT_FALSE(fate_.let_go);
  held.open();
  synchronize(own_);
}

TEST_F(CopyKeeperTest, ACopyThatBeginsAfterTheEndIsKeptAndCanBeAskedAbout) {
  EXPECT_TRUE(keeper_->end(seconds(60)));
  contract::Gate held = gate();
  held.hold(own_);
  const auto copy = begin();
  EXPECT_FALSE(keeper_->ask(copy));
  held.open();
  EXPECT_TRUE(ends(copy));
  EXPECT_TRUE(fate_.let_go);
}

/// A function that is told of a copy's end. Destroying it waits for a thread that needs the keeper's
/// lock, as a Python function waits for the GIL.
class WaitsWhenDestroyed {
public:
  explicit WaitsWhenDestroyed(std::function<void()> use_keeper, bool& in_time)
      : use_keeper_(std::move(use_keeper)), in_time_(in_time) {}
  WaitsWhenDestroyed(const WaitsWhenDestroyed&) = delete;
  WaitsWhenDestroyed& operator=(const WaitsWhenDestroyed&) = delete;
  ~WaitsWhenDestroyed() {
    auto used = std::make_shared<std::promise<void>>();
    std::thread([use_keeper = use_keeper_, used] {
      use_keeper();
      used->set_value();
    }).detach();
    in_time_ = used->get_future().wait_for(seconds(10)) == std::future_status::ready;
  }

private:
  std::function<void()> use_keeper_;
  bool& in_time_;
};

TEST_F(CopyKeeperTest, AFunctionThatNobodyWillCallIsDestroyedWithoutTheLock) {
  EXPECT_TRUE(keeper_->end(seconds(60)));
  contract::Gate held = gate();
  held.hold(own_);
  const auto copy = begin();
  bool in_time = false;
  auto told = std::make_shared<WaitsWhenDestroyed>([&] { keeper_->drop(copy); }, in_time);
  const std::string refusal =
      message_of<Unavailable>([&] { keeper_->watch(copy, [told = std::move(told)] {}); });
  EXPECT_TRUE(says(refusal, "the process is ending")) << refusal;
  EXPECT_FALSE(says(refusal, "ulimit")) << refusal;
  EXPECT_TRUE(in_time);
  held.open();
  EXPECT_TRUE(ends(copy));
}

}  // namespace
}  // namespace isthmus::transfer
