// Threads of a ring that the system keeps from working, while others go on.
#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "occupy.hpp"
#include "transfer/meeting_place.hpp"
#include "transfer/staging/host_ends.hpp"
#include "transfer/staging/slot_filler.hpp"
#include "transfer/staging/staging_job.hpp"
#include "transfer/staging/staging_slots.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

using isthmus::test::occupy;

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

/// Holds one part of some pieces until all other parts are filled.
class LateParts final : public PartSource {
public:
  LateParts(std::size_t part_bytes, std::set<std::size_t> late_parts, std::size_t num_parts)
      : part_bytes_(part_bytes),
        late_parts_(std::move(late_parts)),
        num_others_(num_parts - late_parts_.size()) {}
  void fill(std::byte* slot, std::size_t offset_bytes, std::size_t size_bytes) const override {
    if (late_parts_.contains(offset_bytes / part_bytes_)) {
      if (!eventually([&] { return num_filled_ == num_others_; }))
        throw UsageError("the others wait for the late parts");
    } else {
      ++num_filled_;
    }
    std::memset(slot, static_cast<int>(offset_bytes / part_bytes_), size_bytes);
  }

private:
  std::size_t part_bytes_;
  std::set<std::size_t> late_parts_;
  std::size_t num_others_;
  mutable std::atomic<std::size_t> num_filled_{0};
};

/// Two of three threads hold the only two slots that the upload may take otherwise.
TEST_F(StagingLateThreadsTest, PiecesThatAreLateAreReplacedBySpareSlots) {
  constexpr std::size_t kPieceBytes = 8 * kKiB;
  constexpr std::size_t kNumPieces = 40;
  constexpr std::size_t kBytes = kNumPieces * kPieceBytes;
  const CUdeviceptr device = device_memory(kBytes);
  const Context context = retained();
  const CurrentContext current(context);
  const LateParts source(kPieceBytes, {1, 5}, kNumPieces);
  const StagedRanges ranges({device, kBytes, &source, nullptr});
  StagingJob job({kBytes, 1, {kPieceBytes, kPieceBytes, kPieceBytes, kPieceBytes, kPieceBytes, 1}},
                 ranges);
  job.num_slots = 2;
  StagingSlots slots(context, best_marks(context), 4, 2 * kPieceBytes);
  slots.begin(job, kPieceBytes, nullptr);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { slots.work(job); });
  for (std::thread& thread : threads) thread.join();
  job.close();
  slots.finish(job);
  EXPECT_NO_THROW(job.rethrow());
  const Bytes sent = on_device(device, kBytes);
  for (std::size_t piece = 0; piece < kNumPieces; ++piece)
    EXPECT_TRUE(all_are(sent, piece * kPieceBytes, (piece + 1) * kPieceBytes,
                        static_cast<std::uint8_t>(piece)));
}

/// Its stream is held back, so that no slot gets free.
TEST_F(StagingLateThreadsTest, ALongUploadThatNobodyHoldsUpTakesFewSlots) {
  if (!driver().has(symbol::stream_wait_value32)) GTEST_SKIP() << "no stream memory operations";
  CopyMoments moments;
  RingSettings settings = small_settings(2);
  settings.num_slots = 3;
  settings.moments = &moments;
  StagingRing ring(retained(), settings);
  const Bytes sent = pattern(512 * kKiB, 1);
  const CUdeviceptr device = device_memory(sent.size());
  const CUstream order = stream();
  contract::Gate held = gate();
  held.hold(order);
  std::thread copies([&] { ring.upload(device, bytes_of(sent), sent.size(), order); });
  EXPECT_TRUE(eventually([&] { return moments.num_pieces() == 3; }));
  occupy(std::chrono::milliseconds(20));
  EXPECT_EQ(moments.num_pieces(), 3) << "of the 10 that fit into the ring's memory";
  held.open();
  copies.join();
  EXPECT_EQ(on_device(device, sent.size()), sent);
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

/// A ring whose only thread is late when the first copy returns.
class StagingHeldThreadTest : public StagingLateThreadsTest {
protected:
  void SetUp() override {
    StagingLateThreadsTest::SetUp();
    if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver holds calls";
    const RingSettings settings = small_settings(2);
    size_bytes_ = 2 * settings.filler_bytes;
    device_ = device_memory(size_bytes_);
    held_.emplace(driver());
    ring_.emplace(retained(), settings);
    ring_->upload(device_, MeetingPlace(2), size_bytes_, nullptr);
    ASSERT_TRUE(eventually([&] { return held_->holds_one(); }));
  }
  void TearDown() override {
    if (held_) held_->let_go();
    ring_.reset();
    if (held_) {
      EXPECT_FALSE(held_->has_waited_too_long());
    }
    StagingLateThreadsTest::TearDown();
  }

  std::size_t size_bytes_ = 0;
  CUdeviceptr device_ = 0;
  std::optional<HeldThreads> held_;
  std::optional<StagingRing> ring_;
};

TEST_F(StagingHeldThreadTest, TheNextCopiesAreMadeWithoutIt) {
  for (unsigned round = 0; round < 3; ++round) {
    const Bytes sent = pattern(size_bytes_, round);
    Bytes received(size_bytes_);
    ring_->upload(device_, bytes_of(sent), size_bytes_, nullptr);
    ring_->download(bytes_of(received), device_, size_bytes_, nullptr);
    EXPECT_EQ(received, sent);
  }
  EXPECT_TRUE(held_->holds_one());
}

TEST_F(StagingHeldThreadTest, SlotsAreGivenBackWhenItHasLeftThem) {
  std::atomic<bool> begun{false};
  std::atomic<bool> trimmed{false};
  std::thread trims([&] {
    begun = true;
    ring_->trim();
    trimmed = true;
  });
  EXPECT_TRUE(eventually([&] { return begun.load(); }));
  occupy(std::chrono::milliseconds(20));
  EXPECT_GT(ring_->pinned_bytes(), 0U);
  EXPECT_FALSE(trimmed);
  held_->let_go();
  trims.join();
  EXPECT_EQ(ring_->pinned_bytes(), 0U);
}

}  // namespace
}  // namespace isthmus::transfer
