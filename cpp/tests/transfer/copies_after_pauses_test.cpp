// Copies that a program makes again after pauses, by a clock that the tests advance.
#include "transfer/copy/copies_after_pauses.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "faults/emulator_controls.hpp"
#include "transfer/devices_under_test.hpp"
#include "transfer/made_up_profiles.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

/// Clocks that the tests advance; the first one goes on by itself with each call.
std::int64_t now_ns = 0;
constexpr std::int64_t kCallNs = 1'000;
std::int64_t test_clock_ns() { return now_ns += kCallNs; }
host::Tick tick = 1;
host::Tick test_tick() noexcept { return tick; }
constexpr std::int64_t kPauseNs = 1'000'000;

/// Two owners of such copies for the same device.
class CopiesAfterPausesTest : public DevicesUnderTest {
protected:
  explicit CopiesAfterPausesTest(int num_devices = 1) : num_devices_(num_devices) {}

  void SetUp() override {
    DevicesUnderTest::SetUp();
    if (IsSkipped()) return;
    if (driver().device_count() != num_devices_)
      GTEST_SKIP() << "for " << num_devices_ << " devices: copies are kept where there is one";
    memory_.emplace(driver(), test_tick);
    carriers_.emplace(driver(), std::chrono::microseconds{20}, test_clock_ns);
    copies_.emplace(driver(), *devices_, *memory_, *carriers_);
    other_.emplace(driver(), *devices_, *memory_, *carriers_);
    device_ = device_memory(kBytes);
    host_ = pinned_memory<std::uint8_t>(kBytes);
    wanted_ = pattern(kBytes, 1);
    send_to_device(device_, wanted_);
  }
  void TearDown() override {
    other_.reset();
    copies_.reset();
    carriers_.reset();
    DevicesUnderTest::TearDown();
  }

  /// A copy after a pause whose cheapest path is the driver.
  Plan plan_of(void* target, const void* source, Direction direction = Direction::device_to_host) {
    const Crossing crossing{direction, MemoryKind::pinned, kBytes, true};
    Plan plan(ends_of(crossing, target, source), crossing, &devices_->at(0), CopyPath::driver);
    const void* const host = plan.host_end();
    plan.pinned_id = range_at(driver(), reinterpret_cast<std::uintptr_t>(host)).buffer_id;
    plan.profile = plan.device->profile();
    return plan;
  }
  void note_download() { copies_->note(plan_of(host_, device()), {}); }
  /// After another pause.
  bool copied(void* target, const void* source, std::size_t size_bytes = kBytes,
              const Request& request = {}) {
    now_ns += kPauseNs;
    return copies_->copy(target, source, size_bytes, request, now_ns);
  }
  bool downloaded() { return copied(host_, device()); }
  bool has_arrived() const { return std::equal(wanted_.begin(), wanted_.end(), host_); }
  PathUse use() const {
    for (const PathUse& one : carriers_->statistics().uses())
      if (one.path == CopyPath::driver) return one;
    return {};
  }
  void* device() const { return reinterpret_cast<void*>(device_); }

  const int num_devices_;
  static constexpr std::size_t kBytes = 20 * kKiB;
  CUdeviceptr device_ = 0;
  std::uint8_t* host_ = nullptr;
  Bytes wanted_;
  std::optional<Carriers> carriers_;
  std::optional<CopiesAfterPauses> copies_;
  std::optional<CopiesAfterPauses> other_;
};

class CopiesOfTwoGpusTest : public CopiesAfterPausesTest {
protected:
  CopiesOfTwoGpusTest() : CopiesAfterPausesTest(2) {}
};

TEST_F(CopiesOfTwoGpusTest, AreNotKeptSinceAnAddressMayBelongToTheOtherByThen) {
  note_download();
  EXPECT_FALSE(downloaded());
}

TEST_F(CopiesAfterPausesTest, AreMadeAgainCountedAndTimed) {
  EXPECT_FALSE(downloaded());
  note_download();
  EXPECT_TRUE(downloaded());
  EXPECT_TRUE(has_arrived());
  EXPECT_EQ(use().num_copies, 1u);
  EXPECT_EQ(use().num_bytes, kBytes);
  EXPECT_DOUBLE_EQ(use().seconds, kCallNs * 1e-9) << "the clock is read once more, at the end";
  EXPECT_GT(use().predicted_seconds, use().seconds);
}

/// The statistics can tell that a profile is wrong: what copies took doesn't change what it predicts.
TEST_F(CopiesAfterPausesTest, OfAProfileThatIsTenTimesWrongReadTenTimesAndNeverLess) {
  const double seconds = kCallNs * 1e-9;
  devices_->at(0).use(std::make_shared<const Profile>(
      profile_with_pauses({{CopyPath::driver, 4 * seconds, 6 * seconds}})));
  for (int i = 0; i < 40; ++i) {
    note_download();
    ASSERT_TRUE(downloaded());
  }
  EXPECT_NEAR(use().predicted_seconds / use().seconds, 10, 1e-6);
}

TEST_F(CopiesAfterPausesTest, ThatFollowEachOtherReadTenTimesToo) {
  devices_->at(0).use(std::make_shared<const Profile>(
      profile_with_pauses({{CopyPath::driver, 10 * kCallNs * 1e-9, 0}})));
  Plan plan = plan_of(host_, device());
  plan.crossing.after_pause = false;
  plan.predicted_seconds = 1;  // what chose it: not what is counted
  for (int i = 0; i < 40; ++i) carriers_->carry(plan, {}, now_ns);
  EXPECT_NEAR(use().predicted_seconds / use().seconds, 10, 1e-6);
}

TEST_F(CopiesAfterPausesTest, TellWhatTheyTake) {
  devices_->at(0).use(
      std::make_shared<const Profile>(profile_with_pauses({{CopyPath::driver, 1e-6, 10e-6}})));
  const Plan plan = plan_of(host_, device());
  const double before = plan.device->seconds(plan.path, plan.crossing);
  note_download();
  ASSERT_TRUE(downloaded());
  EXPECT_LT(plan.device->seconds(plan.path, plan.crossing), before);
}

TEST_F(CopiesAfterPausesTest, AreNotMadeWithoutAPauseSinceAnotherPathMayBeTheBestThen) {
  note_download();
  ASSERT_TRUE(downloaded());
  EXPECT_FALSE(copies_->copy(host_, device(), kBytes, {}, now_ns)) << "one has just ended";
}

TEST_F(CopiesAfterPausesTest, AreMadeSomeTimesBeforeTheirPathIsChosenAgain) {
  note_download();
  int num_made = 0;
  while (downloaded()) ++num_made;
  EXPECT_EQ(num_made, 31);
  note_download();
  EXPECT_TRUE(downloaded());
}

TEST_F(CopiesAfterPausesTest, AreKnownByBothAddressesAndTheirSize) {
  note_download();
  EXPECT_FALSE(copied(host_, device(), kBytes - 1));
  EXPECT_FALSE(copied(host_ + 1, device()));
  EXPECT_FALSE(copied(host_, static_cast<std::byte*>(device()) + 1));
  EXPECT_TRUE(downloaded());
}

TEST_F(CopiesAfterPausesTest, AreKeptInBothDirectionsBetweenTwoBuffers) {
  // Which of the four places a copy has depends on addresses: of 64 pairs most have two.
  constexpr std::size_t step = 256;
  auto* const hosts = pinned_memory<std::uint8_t>(kBytes + 64 * step);
  int num_kept = 0;
  for (std::size_t pair = 0; pair < 64; ++pair) {
    std::uint8_t* const host = hosts + pair * step;
    copies_->note(plan_of(host, device()), {});
    copies_->note(plan_of(device(), host, Direction::host_to_device), {});
    num_kept += copied(host, device()) && copied(device(), host) ? 1 : 0;
  }
  EXPECT_GT(num_kept, 32);
}

TEST_F(CopiesAfterPausesTest, AreNotMadeByNameOrInAStreamOfItsOwn) {
  note_download();
  Request request;
  request.path = CopyPath::driver;
  EXPECT_FALSE(copied(host_, device(), kBytes, request));
  request.path.reset();
  request.stream = CU_STREAM_PER_THREAD;
  EXPECT_FALSE(copied(host_, device(), kBytes, request));
  request.stream = CU_STREAM_LEGACY;
  EXPECT_TRUE(copied(host_, device(), kBytes, request));
}

TEST_F(CopiesAfterPausesTest, AreNotMadeIfAnotherHasNotedThemOrAnotherProfileHasChosenThem) {
  other_->note(plan_of(host_, device()), {});
  EXPECT_FALSE(downloaded());
  note_download();
  devices_->at(0).use(std::make_shared<const Profile>(*devices_->at(0).profile()));
  EXPECT_FALSE(downloaded());
}

TEST_F(CopiesAfterPausesTest, AreNotNotedIfTheyCameAfterNoPauseOrAnotherPathIsCheaper) {
  Plan plan = plan_of(host_, device());
  plan.profile = nullptr;
  copies_->note(plan, {});
  EXPECT_FALSE(downloaded());
  plan = plan_of(host_, device());
  plan.crossing.after_pause = false;
  copies_->note(plan, {});
  EXPECT_FALSE(downloaded());
}

TEST_F(CopiesAfterPausesTest, AreNotNotedByAnotherPathOrInAStreamOfTheirOwn) {
  Plan staged = plan_of(host_, device());
  staged.path = CopyPath::staged;
  copies_->note(staged, {});
  EXPECT_FALSE(downloaded());
  Request elsewhere;
  elsewhere.stream = CU_STREAM_PER_THREAD;
  copies_->note(plan_of(host_, device()), elsewhere);
  EXPECT_FALSE(downloaded());
}

TEST_F(CopiesAfterPausesTest, FromMemoryThatIsSaidToBePinnedAreMadeIfThatIsSaidAgain) {
  Plan plan = plan_of(device(), host_, Direction::host_to_device);
  plan.pinned_id = 0;
  copies_->note(plan, {});
  EXPECT_FALSE(copied(device(), host_)) << "pageable memory may be there now";
  Request said;
  said.source_kind = MemoryKind::pinned;
  EXPECT_TRUE(copied(device(), host_, kBytes, said));
}

TEST_F(CopiesAfterPausesTest, AreNotMadeToAMappedFileSinceItMayBecomeShorter) {
  const int file = memfd_create("isthmus-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  void* const target = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(target, MAP_FAILED);
  Plan plan = plan_of(target, device());
  plan.crossing.host_kind = MemoryKind::pageable;
  copies_->note(plan, {});
  EXPECT_FALSE(copied(target, device()));
  munmap(target, kBytes);
  close(file);
}

TEST_F(CopiesAfterPausesTest, AreNotMadeToMemoryThatIsNotMappedAnyMore) {
  void* const target =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(target, MAP_FAILED);
  Plan plan = plan_of(target, device());
  plan.crossing.host_kind = MemoryKind::pageable;
  copies_->note(plan, {});
  ++tick;
  EXPECT_TRUE(copied(target, device()));
  munmap(target, kBytes);
  ++tick;
  EXPECT_FALSE(copied(target, device()));
}

TEST_F(CopiesAfterPausesTest, AreNotMadeFromAPinnedBufferThatWasFreed) {
  auto buffer = std::make_unique<PinnedBuffer>(retained(), kBytes);
  void* const source = buffer->data();
  copies_->note(plan_of(device(), source, Direction::host_to_device), {});
  EXPECT_TRUE(copied(device(), source));
  buffer.reset();
  EXPECT_FALSE(copied(device(), source));
}

TEST_F(CopiesAfterPausesTest, LeaveACaptureAloneThatForbidsTheDefaultStream) {
  note_download();
  const Stream captured(retained(), Stream::Kind::blocking);
  GlobalCapture capture(driver(), captured.handle());
  EXPECT_FALSE(downloaded());
  EXPECT_EQ(capture.end(), CUDA_SUCCESS);
  EXPECT_TRUE(downloaded());
}

TEST_F(CopiesAfterPausesTest, AreMadeByAThreadWithoutAContext) {
  const Plan plan = plan_of(host_, device());
  bool made = false;
  CUcontext left = nullptr;
  std::thread([&] {
    copies_->note(plan, {});
    made = downloaded();
    driver().call(symbol::ctx_get_current)(&left);
  }).join();
  EXPECT_TRUE(made);
  EXPECT_TRUE(has_arrived());
  EXPECT_EQ(left, nullptr);
}

TEST_F(CopiesAfterPausesTest, AskTheDriverForNothingButTheBufferAndTheCapture) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver counts its calls";
  note_download();
  const isthmus::test::EmulatorControls controls(driver());
  controls.log_calls(1);
  ASSERT_TRUE(downloaded());
  controls.log_calls(0);
  const std::map<std::string, int> wanted{{"cuStreamIsCapturing", 1},
                                          {"cuPointerGetAttribute", 1},
                                          {"cuThreadExchangeStreamCaptureMode", 2},
                                          {"cuMemcpyDtoH", 1}};
  EXPECT_EQ(isthmus::test::counts_of_calls(controls.call_log()), wanted);
}

}  // namespace
}  // namespace isthmus::transfer
