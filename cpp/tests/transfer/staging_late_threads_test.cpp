// Threads of a ring that the system keeps from working, while others go on.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "faults/emulator_controls.hpp"
#include "transfer/meeting_place.hpp"
#include "transfer/staging/slot_filler.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

/// Holds its second piece until all others are filled.
class OneLatePiece final : public SlotFiller {
public:
  explicit OneLatePiece(std::size_t num_pieces) : num_others_(num_pieces - 1) {}
  std::size_t fill(std::byte* slot, std::size_t offset_bytes,
                   std::size_t size_bytes) const override {
    if (offset_bytes == size_bytes) {
      if (!eventually([&] { return num_filled_ == num_others_; }))
        throw std::runtime_error("the others wait for this piece");
    } else {
      ++num_filled_;
    }
    std::memset(slot, static_cast<int>(offset_bytes / size_bytes), size_bytes);
    return 0;
  }

private:
  std::size_t num_others_;
  mutable std::atomic<std::size_t> num_filled_{0};
};

class StagingLateThreadsTest : public StagingUnderTest {
protected:
  void TearDown() override {
    if (driver().emulated()) isthmus::test::EmulatorControls(driver()).reset();
    StagingUnderTest::TearDown();
  }
};

/// The system may take a thread's core for milliseconds. There are more pieces than slots.
TEST_F(StagingLateThreadsTest, AThreadThatIsDelayedHoldsUpOnlyItsPiece) {
  const RingSettings settings = small_settings(2);
  StagingRing ring(retained(), settings);
  constexpr std::size_t kNumPieces = 100;
  const std::size_t size_bytes = kNumPieces * settings.filler_bytes;
  const CUdeviceptr device = device_memory(size_bytes);
  ring.upload(device, OneLatePiece(kNumPieces), size_bytes, nullptr);
  const Bytes sent = on_device(device, size_bytes);
  for (std::size_t piece = 0; piece < kNumPieces; ++piece)
    EXPECT_TRUE(all_are(sent, piece * settings.filler_bytes, (piece + 1) * settings.filler_bytes,
                        static_cast<std::uint8_t>(piece)));
}

/// Keeps every thread but this one from leaving its context until it is told to let them go. Must
/// outlive the ring.
class HeldThreads {
public:
  explicit HeldThreads(const Driver& driver) {
    const isthmus::test::EmulatorControls controls(driver);
    for (int nth = 1; nth <= kMaxCalls; ++nth)
      controls.before_call(
          "cuCtxPopCurrent", nth, [](void* held) { static_cast<const HeldThreads*>(held)->hold(); },
          this);
  }

  void let_go() { released_ = true; }
  bool holds_one() const { return num_held_ == 1; }
  bool has_waited_too_long() const { return too_long_; }

private:
  static constexpr int kMaxCalls = 32;

  void hold() const {
    if (std::this_thread::get_id() == caller_ || released_) return;
    ++num_held_;
    if (!eventually([&] { return released_.load(); })) too_long_ = true;
    --num_held_;
  }

  const std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<bool> released_{false};
  mutable std::atomic<int> num_held_{0};
  mutable std::atomic<bool> too_long_{false};
};

TEST_F(StagingLateThreadsTest, ACopyThatIsDoneWaitsForNoThread) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver holds calls";
  RingSettings settings = small_settings(2);
  const std::size_t size_bytes = 2 * settings.filler_bytes;
  const CUdeviceptr device = device_memory(size_bytes);
  HeldThreads held(driver());
  StagingRing ring(retained(), settings);
  ring.upload(device, MeetingPlace(2), size_bytes, nullptr);
  EXPECT_TRUE(eventually([&] { return held.holds_one(); }));
  for (unsigned round = 0; round < 3; ++round) {
    const Bytes sent = pattern(size_bytes, round);
    Bytes received(size_bytes);
    ring.upload(device, bytes_of(sent), size_bytes, nullptr);
    ring.download(bytes_of(received), device, size_bytes, nullptr);
    EXPECT_EQ(received, sent) << "by the caller alone";
  }
  EXPECT_TRUE(held.holds_one());
  held.let_go();
  EXPECT_FALSE(held.has_waited_too_long());
}

TEST_F(StagingLateThreadsTest, SlotsAreGivenBackWhenTheLastThreadHasLeftThem) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver holds calls";
  RingSettings settings = small_settings(2);
  const std::size_t size_bytes = 2 * settings.filler_bytes;
  const CUdeviceptr device = device_memory(size_bytes);
  HeldThreads held(driver());
  StagingRing ring(retained(), settings);
  ring.upload(device, MeetingPlace(2), size_bytes, nullptr);
  EXPECT_TRUE(eventually([&] { return held.holds_one(); }));
  std::atomic<bool> trimmed{false};
  std::thread trims([&] {
    ring.trim();
    trimmed = true;
  });
  EXPECT_GT(ring.pinned_bytes(), 0U);
  EXPECT_FALSE(trimmed);
  held.let_go();
  trims.join();
  EXPECT_EQ(ring.pinned_bytes(), 0U);
  EXPECT_FALSE(held.has_waited_too_long());
}

}  // namespace
}  // namespace isthmus::transfer
