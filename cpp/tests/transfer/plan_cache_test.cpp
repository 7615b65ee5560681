// Copies that a program repeats.
#include "transfer/copy/plan_cache.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "faults/emulator_controls.hpp"
#include "occupy.hpp"
#include "transfer/devices_under_test.hpp"
#include "transfer/made_up_profiles.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

/// A clock that the tests advance.
host::Tick now = 1;
host::Tick test_clock() noexcept { return now; }

/// Two caches for the same device. Their profile, that of the emulated link, copies 20 KiB by the
/// driver.
class PlanCacheTest : public DevicesUnderTest {
protected:
  void SetUp() override {
    DevicesUnderTest::SetUp();
    if (IsSkipped()) return;
    memory_.emplace(driver(), test_clock);
    cache_.emplace(driver(), *devices_, *windows_, *memory_, test_clock);
    other_.emplace(driver(), *devices_, *windows_, *memory_, test_clock);
  }

  /// A download whose cheapest path is the driver.
  Plan plan_of(void* target, const void* source) {
    const Crossing crossing{Direction::device_to_host, MemoryKind::pinned, kBytes};
    Plan plan(ends_of(crossing, target, source), crossing, &devices_->at(0), CopyPath::driver);
    plan.pinned_id = 7;
    plan.profile = plan.device->profile();
    plan.predicted_seconds = 0.5;
    return plan;
  }
  Plan found(void* target, const void* source, std::size_t size_bytes = kBytes,
             const Request& request = {}) {
    return cache_->find(target, source, size_bytes, request);
  }

  static constexpr std::size_t kBytes = 20 * kKiB;
  std::optional<PlanCache> cache_;
  std::optional<PlanCache> other_;
};

TEST_F(PlanCacheTest, FindsTheSameCopyInTheSameTickOnly) {
  char host[8] = {};
  char device[8] = {};
  EXPECT_FALSE(found(host, device));
  cache_->note(plan_of(host, device), {});
  const Plan again = found(host, device);
  ASSERT_TRUE(again);
  EXPECT_EQ(again.path, CopyPath::driver);
  EXPECT_FALSE(again.uploads());
  EXPECT_EQ(again.pinned_id, 7u);
  EXPECT_EQ(again.predicted_seconds, 0.5);
  EXPECT_EQ(again.ends.target_kind, MemoryKind::pinned);
  EXPECT_FALSE(found(host, device, kBytes - 1));
  EXPECT_FALSE(found(host, device + 1));
  EXPECT_FALSE(found(host + 1, device));
  ++now;
  EXPECT_FALSE(found(host, device));
}

TEST_F(PlanCacheTest, FindsOnlyWindowsForACopyThatIsMadeAtOnce) {
  char host[8] = {};
  char device[8] = {};
  cache_->note(plan_of(host, device), {});
  EXPECT_FALSE(cache_->find_window(host, device, kBytes, {}));
  EXPECT_TRUE(found(host, device));
}

TEST_F(PlanCacheTest, FindsNothingForACopyByNameOrInAStreamOfItsOwn) {
  char host[8] = {};
  char device[8] = {};
  cache_->note(plan_of(host, device), {});
  Request request;
  request.path = CopyPath::driver;
  EXPECT_FALSE(found(host, device, kBytes, request));
  request.path.reset();
  request.stream = CU_STREAM_PER_THREAD;
  EXPECT_FALSE(found(host, device, kBytes, request));
}

TEST_F(PlanCacheTest, FindsNothingThatAnotherCacheHasNotedOrAnotherProfileHasChosen) {
  char host[8] = {};
  char device[8] = {};
  other_->note(plan_of(host, device), {});
  EXPECT_FALSE(found(host, device));
  cache_->note(plan_of(host, device), {});
  devices_->at(0).use(std::make_shared<const Profile>(*devices_->at(0).profile()));
  EXPECT_FALSE(found(host, device));
}

TEST_F(PlanCacheTest, NotesNoCopyAfterAPauseSinceThoseThatFollowMayHaveAnotherBestPath) {
  char host[8] = {};
  char device[8] = {};
  Plan plan = plan_of(host, device);
  plan.crossing.after_pause = true;
  cache_->note(plan, {});
  EXPECT_FALSE(found(host, device));
}

TEST_F(PlanCacheTest, NotesNoPlanThatIsNotTheCheapestWay) {
  char host[8] = {};
  char device[8] = {};
  Plan plan = plan_of(host, device);
  plan.profile = nullptr;
  cache_->note(plan, {});
  EXPECT_FALSE(found(host, device));
}

TEST_F(PlanCacheTest, AfterAPauseOneThreadCopiesThroughAWindowIfOthersAreNotWorthWaking) {
  const auto use = [&](double pause_seconds_of_threads) {
    devices_->at(0).use(std::make_shared<const Profile>(
        profile_with_pauses({{CopyPath::driver, 1e-2, 1e-5},
                             {CopyPath::window, 3e-6, 1e-5},
                             {CopyPath::window_threads, 1e-6, pause_seconds_of_threads}})));
  };
  const CUdeviceptr device = device_memory(kMiB);
  const CurrentContext current(retained());
  windows_->open(range_at(driver(), device), device, kBytes);
  Bytes host(kBytes);
  const auto found_path = [&](bool after_pause) {
    const Plan plan = found(reinterpret_cast<void*>(device), host.data());
    return after_pause ? PlanCache::path_after_pause(plan) : plan.path;
  };
  use(3e-5);
  EXPECT_EQ(found_path(false), CopyPath::window_threads);
  EXPECT_EQ(found_path(true), CopyPath::window);
  use(1e-6);
  EXPECT_EQ(found_path(true), CopyPath::window_threads);
}

/// With a profile that only has the driver.
class RepeatedCopies : public TransfersUnderTest, public testing::WithParamInterface<bool> {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (!IsSkipped()) prefer_the_ring();
  }
  /// After a pause, if that is the rhythm.
  void copy(void* target, const void* source) {
    if (GetParam()) isthmus::test::occupy(kMoreThanMinPause);
    transfers().copy(target, source, kBytes);
  }
  static constexpr std::size_t kBytes = 20 * kKiB;
  static constexpr std::chrono::microseconds kMoreThanMinPause{50};
};

INSTANTIATE_TEST_SUITE_P(Rhythms, RepeatedCopies, testing::Values(false, true),
                         [](const auto& info) {
                           return info.param ? "AfterPauses" : "BackToBack";
                         });

TEST_P(RepeatedCopies, OfTheDevicesMemoryBringWhatIsThereNowAndAreAllCounted) {
  const CUdeviceptr device = device_memory(kBytes);
  Bytes target(kBytes);
  ASSERT_EQ(transfers().explain(target.data(), to_pointer(device), kBytes).path, CopyPath::driver);
  for (unsigned round = 0; round < 50; ++round) {
    const Bytes bytes = pattern(kBytes, round);
    send_to_device(device, bytes);
    copy(target.data(), to_pointer(device));
    ASSERT_EQ(target, bytes) << "round " << round;
  }
  EXPECT_EQ(num_copies(CopyPath::driver), 50u);
}

TEST_P(RepeatedCopies, OfPinnedMemoryBringWhatIsThereNowAndAreAllCounted) {
  const CUdeviceptr device = device_memory(kBytes);
  auto* const source = pinned_memory<std::uint8_t>(kBytes);
  ASSERT_EQ(transfers().explain(to_pointer(device), source, kBytes).path, CopyPath::driver);
  for (unsigned round = 0; round < 50; ++round) {
    const Bytes bytes = pattern(kBytes, round);
    std::copy(bytes.begin(), bytes.end(), source);
    copy(to_pointer(device), source);
    ASSERT_EQ(on_device(device, kBytes), bytes) << "round " << round;
  }
  EXPECT_EQ(num_copies(CopyPath::driver), 50u);
}

TEST_P(RepeatedCopies, OfPinnedMemoryAreNotExaminedAgain) {
  if (GetParam()) GTEST_SKIP() << "after a pause each is examined";
  if (!driver().emulated()) GTEST_SKIP() << "counts the emulated driver's calls";
  const CUdeviceptr device = device_memory(kBytes);
  auto* const source = pinned_memory<std::uint8_t>(kBytes);
  const isthmus::test::EmulatorControls controls(driver());
  controls.log_calls(1);
  constexpr int kNumCopies = 200;
  for (int i = 0; i < kNumCopies; ++i) copy(to_pointer(device), source);
  auto counts = isthmus::test::counts_of_calls(controls.call_log());
  controls.log_calls(0);
  EXPECT_EQ(counts["cuMemcpyHtoD"], kNumCopies);
  EXPECT_LT(counts["cuPointerGetAttributes"], kNumCopies);
}

TEST_P(RepeatedCopies, OfPinnedMemoryThatWasFreedAreExaminedAgain) {
  const CUdeviceptr device = device_memory(kBytes);
  for (unsigned round = 0; round < 20; ++round) {
    auto buffer = std::make_unique<PinnedBuffer>(retained(), kBytes);
    const void* const source = buffer->data();
    for (int i = 0; i < 3; ++i) copy(to_pointer(device), source);
    buffer.reset();
    EXPECT_THROW(copy(to_pointer(device), source), UsageError);
  }
}

TEST_P(RepeatedCopies, OfABufferThatWasFreedAreRefused) {
  for (int round = 0; round < 20; ++round) {
    Bytes target(kBytes);
    auto buffer = std::make_unique<DeviceBuffer>(retained(), kBytes);
    void* const source = to_pointer(buffer->pointer());
    for (int i = 0; i < 3; ++i) copy(target.data(), source);
    buffer.reset();
    EXPECT_THROW(copy(target.data(), source), UsageError);
  }
}

TEST_P(RepeatedCopies, ThatTheDriverRefusesAreNotCounted) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const CUdeviceptr device = device_memory(kBytes);
  Bytes target(kBytes);
  for (int i = 0; i < 3; ++i) copy(target.data(), to_pointer(device));
  const isthmus::test::EmulatorControls emulator(driver());
  emulator.fail_calls("cuMemcpyDtoH", CUDA_ERROR_INVALID_VALUE);
  EXPECT_THROW(copy(target.data(), to_pointer(device)), DriverError);
  emulator.reset();
  EXPECT_EQ(num_copies(CopyPath::driver), 3u);
}

TEST_P(RepeatedCopies, ThatAreMadeOnceMoreBecauseTheDriverRefusesAreCountedOnce) {
  if (GetParam()) GTEST_SKIP() << "after a pause each is examined";
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const CUdeviceptr device = device_memory(kBytes);
  auto* const source = pinned_memory<std::uint8_t>(kBytes);
  const isthmus::test::EmulatorControls emulator(driver());
  std::uint64_t num_made = 0;
  bool made_again = false;
  // If the clock has just ticked, the copy isn't known, and the refusal is the caller's.
  for (int attempt = 0; attempt < 100 && !made_again; ++attempt) {
    for (int i = 0; i < 3; ++i, ++num_made) copy(to_pointer(device), source);
    emulator.fail_call("cuMemcpyHtoD", 1, CUDA_ERROR_INVALID_VALUE);
    try {
      copy(to_pointer(device), source);
      ++num_made;
      made_again = true;
    } catch (const DriverError&) {
      emulator.reset();
    }
  }
  EXPECT_TRUE(made_again);
  EXPECT_EQ(num_copies(CopyPath::driver), num_made);
}

/// If a part of a copy may be running, the copy isn't made again beside it.
TEST_P(RepeatedCopies, ThatMayStillBeRunningFail) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const CUdeviceptr device = device_memory(kBytes);
  Bytes bytes(4 * kBytes);
  auto* const target =
      reinterpret_cast<std::uint8_t*>(host::Pages(bytes.data() + host::page_bytes(), 1).data());
  std::uint8_t* const pinned = target + 2 * host::page_bytes();
  // The driver refuses the copy as one, so it is enqueued in pieces and waited for.
  driver().call(symbol::mem_host_register)(pinned, host::page_bytes(), 0u);
  const isthmus::test::EmulatorControls emulator(driver());
  for (int i = 0; i < 3; ++i) copy(target, to_pointer(device));
  for (int nth = 1; nth <= 3; ++nth)
    emulator.fail_call("cuStreamSynchronize", nth, CUDA_ERROR_INVALID_VALUE);
  try {
    copy(target, to_pointer(device));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DriverError& error) {
    EXPECT_TRUE(error.memory_in_use()) << error.what();
  }
  emulator.reset();
  driver().call(symbol::ctx_synchronize)();
  driver().call(symbol::mem_host_unregister)(pinned);
}

TEST_P(RepeatedCopies, ToAFileThatHasBecomeShorterAreRefused) {
  const CUdeviceptr device = device_memory(kBytes);
  const int file = memfd_create("isthmus-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  void* const target = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(target, MAP_FAILED);
  copy(target, to_pointer(device));
  ASSERT_EQ(ftruncate(file, 0), 0);
  EXPECT_THROW(copy(target, to_pointer(device)), UsageError);
  munmap(target, kBytes);
  close(file);
}

}  // namespace
}  // namespace isthmus::transfer
