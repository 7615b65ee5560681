// The threads of a ring: shared by many callers, asleep when idle, missing in children.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include <isthmus/errors.hpp>

#include "driver/child_process.hpp"
#include "environment_variable.hpp"
#include "host/cpu/cgroup.hpp"
#include "host/system/text_file.hpp"
#include "occupy.hpp"
#include "transfer/meeting_place.hpp"
#include "transfer/staging/staging_job.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

using isthmus::test::occupy;

namespace fs = std::filesystem;

constexpr std::size_t kBytes = 300 * kKiB;
constexpr int kNumThreads = 4;

/// The threads of this process's rings, as /proc shows them.
std::vector<fs::path> ring_threads() {
  std::vector<fs::path> found;
  std::error_code vanished;
  for (const auto& task : fs::directory_iterator("/proc/self/task", vanished)) {
    if (host::read_text(task.path() / "comm").value_or("") == "isthmus-ring") {
      found.push_back(task.path());
    }
  }
  return found;
}

/// The lines of /proc/self/task/1/status that begin with a name.
std::string status_of(const fs::path& task, const std::string& name) {
  std::string lines;
  const std::string text = host::read_text(task / "status").value_or("");
  for (const std::string_view line : host::split(text, '\n')) {
    if (line.find(name) != std::string_view::npos) lines += std::string(line) + '\n';
  }
  return lines;
}

bool all_asleep(std::size_t num_threads) {
  const auto tasks = ring_threads();
  return tasks.size() == num_threads &&
         std::all_of(tasks.begin(), tasks.end(), [](const auto& task) {
           return says(status_of(task, "State:"), "S (sleeping)");
         });
}

std::string switches() {
  std::string all;
  for (const fs::path& task : ring_threads()) all += status_of(task, "ctxt_switches:");
  return all;
}

class StagingThreadsTest : public StagingUnderTest {
protected:
  void SetUp() override {
    StagingUnderTest::SetUp();
    device_ = device_memory(kBytes);
    order_ = stream();
  }

  bool copies(StagingRing& ring, unsigned seed = 1) {
    const Bytes sent = pattern(kBytes, seed);
    Bytes received(kBytes);
    ring.upload(device_, bytes_of(sent), kBytes, order_);
    ring.download(bytes_of(received), device_, kBytes, order_);
    return received == sent;
  }

  /// Uploads, and says how many pieces that took.
  std::int64_t pieces_of(StagingRing& ring, const Bytes& sent, CopyMoments& moments) {
    ring.upload(device_, bytes_of(sent), sent.size(), order_);
    const std::int64_t num_pieces = moments.num_pieces();
    moments.clear();
    return num_pieces;
  }

  CUdeviceptr device_ = 0;
  CUstream order_ = nullptr;
};

TEST_F(StagingThreadsTest, NothingIsStartedOrPinnedBeforeTheFirstCopy) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  EXPECT_EQ(ring.pinned_bytes(), 0U);
  EXPECT_TRUE(ring_threads().empty());
  EXPECT_TRUE(copies(ring));
  EXPECT_GT(ring.pinned_bytes(), 0U);
}

TEST_F(StagingThreadsTest, ASmallCopyStartsNoThread) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  const Bytes sent = pattern(4 * kKiB, 1);
  ring.upload(device_, bytes_of(sent), sent.size(), order_);
  EXPECT_TRUE(ring_threads().empty());
  EXPECT_EQ(on_device(device_, sent.size()), sent);
}

TEST_F(StagingThreadsTest, AnUploadTakesMoreThanFiveThreadsOnlyIfItsSlotsMayBeDemoted) {
  RingSettings settings;
  settings.beyond_cores = true;
  StagingRing ring(retained(), settings);
  constexpr std::size_t kLongBytes = 32 * kMiB;
  const Bytes sent = pattern(kLongBytes, 1);
  const CUdeviceptr target = device_memory(kLongBytes);
  ring.upload(target, bytes_of(sent), kLongBytes / 2, order_);
  EXPECT_TRUE(eventually([] { return ring_threads().size() == 4; })) << "and the caller";
  ring.upload(target, bytes_of(sent), kLongBytes, order_);
  EXPECT_TRUE(eventually([] { return ring_threads().size() > 4; }));
  EXPECT_EQ(on_device(target, kLongBytes), sent);
}

TEST_F(StagingThreadsTest, AShortDownloadTakesFewThreadsSinceTheyWouldOnlyWaitForTheLink) {
  RingSettings settings;
  settings.beyond_cores = true;
  StagingRing ring(retained(), settings);
  const CUdeviceptr source = device_memory(32 * kMiB);
  Bytes received(32 * kMiB);
  // Threads that were started stay, so the sizes ascend. A thread has its name as soon as it runs.
  const auto has_helpers = [&](std::size_t size_bytes, std::size_t num_helpers) {
    ring.download(bytes_of(received), source, size_bytes, order_);
    return eventually([&] { return ring_threads().size() == num_helpers; });
  };
  EXPECT_TRUE(has_helpers(kMiB, 1));
  EXPECT_TRUE(has_helpers(4 * kMiB, 3));
  EXPECT_TRUE(has_helpers(16 * kMiB, 4));
  EXPECT_TRUE(has_helpers(32 * kMiB, 9)) << "as many as it was made with";
}

TEST_F(StagingThreadsTest, NothingRunsWhenIdleAndSleepersWakeAgain) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  for (unsigned round = 0; round < 3; ++round) {
    ASSERT_TRUE(copies(ring, round));
    ASSERT_TRUE(eventually([] { return all_asleep(kNumThreads - 1); }));
  }
  // A thread may look asleep shortly before it is: one quiet period of some milliseconds is enough.
  EXPECT_TRUE(eventually([] {
    const std::string before = switches();
    const Bytes busy = pattern(4 * kMiB, 1);
    return switches() == before && busy.size() == 4 * kMiB;
  })) << "idle threads wake up";
}

/// All bytes of a copy are in the slots, and the link takes none of them until the gate opens. So the
/// threads are done long before the copy ends.
TEST_F(StagingThreadsTest, ThatAreDoneSleepBeforeTheCopyEndsUnlessItFollowsAnother) {
  if (!driver().has(symbol::stream_wait_value32)) GTEST_SKIP() << "no stream memory operations";
  constexpr std::chrono::milliseconds kSpins{400};
  const isthmus::test::EnvironmentVariable spin_time("ISTHMUS_SPIN_US", "400000");
  CopyMoments moments;
  RingSettings settings = small_settings(kNumThreads);
  settings.moments = &moments;
  StagingRing ring(retained(), settings);
  const Bytes sent = pattern(64 * kKiB, 2);
  const std::int64_t num_pieces = pieces_of(ring, sent, moments);
  occupy(kSpins);
  const CUstream second = stream();
  contract::Gate held = gate();
  contract::Gate held_again = gate();
  held.hold(order_);
  held_again.hold(second);
  std::thread copies([&] {
    ring.upload(device_, bytes_of(sent), sent.size(), order_);
    ring.upload(device_, bytes_of(sent), sent.size(), second);
  });
  EXPECT_TRUE(eventually([&] { return moments.num_pieces() == num_pieces; }));
  EXPECT_TRUE(eventually([] { return all_asleep(kNumThreads - 1); })) << "the first after a pause";
  held.open();
  EXPECT_TRUE(eventually([&] { return moments.num_pieces() == 2 * num_pieces; }));
  occupy(2 * kSpins);
  EXPECT_FALSE(all_asleep(kNumThreads - 1)) << "the next copy may follow at once, too";
  held_again.open();
  copies.join();
  EXPECT_EQ(on_device(device_, sent.size()), sent);
}

TEST_F(StagingThreadsTest, ThatAreDoneWithALongUploadSleepBeforeItEndsEvenIfItFollowsAnother) {
  if (!driver().has(symbol::stream_wait_value32)) GTEST_SKIP() << "no stream memory operations";
  const isthmus::test::EnvironmentVariable spin_time("ISTHMUS_SPIN_US", "400000");
  CopyMoments moments;
  RingSettings settings = small_settings(kNumThreads);
  settings.min_long_bytes = 32 * kKiB;
  settings.moments = &moments;
  StagingRing ring(retained(), settings);
  const Bytes sent = pattern(64 * kKiB, 2);
  const std::int64_t num_pieces = pieces_of(ring, sent, moments);
  const CUstream second = stream();
  contract::Gate held = gate();
  held.hold(second);
  std::thread copies([&] {
    ring.upload(device_, bytes_of(sent), sent.size(), order_);
    ring.upload(device_, bytes_of(sent), sent.size(), second);
  });
  EXPECT_TRUE(eventually([&] { return moments.num_pieces() == 2 * num_pieces; }));
  EXPECT_TRUE(eventually([] { return all_asleep(kNumThreads - 1); }));
  held.open();
  copies.join();
  EXPECT_EQ(on_device(device_, sent.size()), sent);
}

/// The caller wakes only some of them.
TEST_F(StagingThreadsTest, AllSleepersAreWokenForALargeCopy) {
  for (const int num_threads : {2, 5, 12}) {
    const RingSettings settings = small_settings(num_threads);
    StagingRing ring(retained(), settings);
    const std::size_t size_bytes = static_cast<std::size_t>(num_threads) * settings.filler_bytes;
    const CUdeviceptr device = device_memory(size_bytes);
    for (int round = 0; round < 2; ++round) {
      EXPECT_NO_THROW(ring.upload(device, MeetingPlace(num_threads), size_bytes, order_));
      ASSERT_TRUE(
          eventually([&] { return all_asleep(static_cast<std::size_t>(num_threads) - 1); }));
    }
  }
}

TEST_F(StagingThreadsTest, CopiesTakeTheThreadsThatTheyAreToldTo) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  ring.use_threads({3, 1});
  Bytes received(kBytes);
  ring.download(bytes_of(received), device_, kBytes, order_);
  EXPECT_TRUE(ring_threads().empty()) << "the caller alone";
  const Bytes sent = pattern(kBytes, 1);
  ring.upload(device_, bytes_of(sent), kBytes, order_);
  // A thread has its name as soon as it runs.
  EXPECT_TRUE(eventually([] { return ring_threads().size() == 2; }));
  ring.download(bytes_of(received), device_, kBytes, order_);
  EXPECT_EQ(received, sent);
  ring.use_threads({});
  EXPECT_EQ(ring.num_threads(), kNumThreads) << "as it was made";
}

TEST_F(StagingThreadsTest, NobodyIsGivenMoreThreadsThanCores) {
  RingSettings settings = small_settings(0);
  settings.beyond_cores = false;
  StagingRing ring(retained(), settings);
  ring.use_threads({1000, 1000});
  EXPECT_EQ(ring.num_threads(), ring.max_threads());
  EXPECT_LE(ring.max_threads(), std::max(1.0, host::effective_cores()));
}

TEST_F(StagingThreadsTest, ARingHasNoMoreThreadsThanItWasMadeWith) {
  StagingRing ring(retained(), small_settings(2));
  ring.use_threads({10, 10});
  EXPECT_EQ(ring.num_threads(), 2);
}

TEST_F(StagingThreadsTest, ThereAreNoMoreThreadsThanCores) {
  RingSettings settings = small_settings(1000);
  settings.beyond_cores = false;
  const StagingRing ring(retained(), settings);
  EXPECT_LE(ring.num_threads(), std::max(1.0, host::effective_cores()));
  EXPECT_GE(ring.num_threads(), 1);
  settings.num_threads = 1;
  EXPECT_EQ(StagingRing(retained(), settings).num_threads(), 1);
}

TEST_F(StagingThreadsTest, InvalidSettingsAreRefused) {
  RingSettings settings;
  settings.num_slots = 0;
  EXPECT_THROW(StagingRing(retained(), settings), UsageError);
  settings = {};
  settings.min_part_bytes = 2 * settings.max_part_bytes;
  EXPECT_THROW(StagingRing(retained(), settings), UsageError);
  settings = {};
  settings.first_bytes = 2 * settings.slot_bytes;
  EXPECT_THROW(StagingRing(retained(), settings), UsageError);
}

TEST_F(StagingThreadsTest, TrimEndsThreadsAndUnpinsAndTheNextCopyMakesThemAgain) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  ASSERT_TRUE(copies(ring));
  const std::size_t pinned = ring.pinned_bytes();
  ring.trim();
  EXPECT_EQ(ring.pinned_bytes(), 0U);
  EXPECT_TRUE(ring_threads().empty());
  ring.trim();
  EXPECT_TRUE(copies(ring));
  EXPECT_EQ(ring.pinned_bytes(), pinned);
}

TEST_F(StagingThreadsTest, TrimWaitsForWhatIsUnderWay) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  const Bytes sent = pattern(kBytes, 5);
  ring.upload(device_, bytes_of(sent), kBytes, order_, UploadEnd::staged);
  ring.trim();
  synchronize(order_);
  EXPECT_EQ(on_device(device_, kBytes), sent);
}

TEST_F(StagingThreadsTest, ThreadsEndWithTheirRing) {
  {
    StagingRing ring(retained(), small_settings(kNumThreads));
    ASSERT_TRUE(copies(ring));
    ASSERT_TRUE(eventually([] { return !ring_threads().empty(); })) << "each names itself";
  }
  EXPECT_TRUE(ring_threads().empty());
}

TEST_F(StagingThreadsTest, SixtyFourCallersAtOnceCopyTheirOwn) {
  constexpr std::size_t kNumCallers = 64;
  constexpr std::size_t kShare = 64 * kKiB;
  StagingRing ring(retained(), small_settings(kNumThreads));
  const CUdeviceptr device = device_memory(kNumCallers * kShare);
  std::atomic<int> num_wrong = 0;
  std::vector<std::thread> callers;
  for (std::size_t caller = 0; caller < kNumCallers; ++caller) {
    callers.emplace_back([&, caller] {
      std::mt19937_64 random(caller);
      for (int round = 0; round < 4; ++round) {
        const std::size_t size = 1 + random() % kShare;
        const Bytes sent = pattern(size, static_cast<unsigned>(random()));
        Bytes received(size);
        ring.upload(device + caller * kShare, bytes_of(sent), size, nullptr);
        ring.download(bytes_of(received), device + caller * kShare, size, nullptr);
        if (received != sent) ++num_wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(num_wrong, 0);
}

TEST_F(StagingThreadsTest, AForkedChildIsRefusedAndTheParentGoesOn) {
  auto ring = std::make_unique<StagingRing>(retained(), small_settings(kNumThreads));
  ASSERT_TRUE(copies(*ring));
  Bytes bytes(kBytes);
  EXPECT_TRUE(holds_in_child([&] {
    const bool refused =
        says(
            message_of<UsageError>([&] { ring->upload(device_, bytes_of(bytes), kBytes, order_); }),
            "it was forked") &&
        says(message_of<UsageError>([&] { ring->download(bytes_of(bytes), device_, 1, order_); }),
             "it was forked") &&
        says(message_of<UsageError>([&] { ring->trim(); }), "it was forked");
    ring.reset();
    return refused;
  }));
  EXPECT_TRUE(copies(*ring));
}

/// The end of a program that never destroys its ring.
TEST_F(StagingThreadsTest, AProcessEndsWithIdleThreads) {
  // In its own process: a forked child has none of the driver's threads.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static StagingRing ring(Context::retain(driver(), 0), small_settings(kNumThreads));
        const bool copied = copies(ring);
        std::exit(copied ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace isthmus::transfer
