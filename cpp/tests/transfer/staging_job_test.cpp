// What the threads of a copy share: parts in order, pieces that complete once, and the bytes that a
// failure leaves undefined. Also into how many device copies a ring divides a copy.
#include "transfer/staging/staging_job.hpp"

#include <stdexcept>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kPieceBytes = 16 * kKiB;
constexpr std::size_t kNumPieces = 8;
constexpr CUdeviceptr kAddress = 4096;

/// A plan with pieces of four parts.
PiecePlan plan() {
  return {kNumPieces * kPieceBytes,
          1,
          {kPieceBytes, kPieceBytes, kPieceBytes, kPieceBytes / 4, kPieceBytes / 4, 1}};
}

void fail(StagingJob& job) {
  try {
    throw UsageError("no more");
  } catch (...) {
    job.fail();
  }
}

std::string failure_of(const StagingJob& job) {
  return message_of<UsageError>([&] { job.rethrow(); });
}

TEST(StagingJobTest, PartsAreGivenInOrderUntilThereAreNone) {
  const PiecePlan cut = plan();
  const StagedRanges one({kAddress, cut.size_bytes()});
  StagingJob job(cut, one);
  std::size_t covered = 0;
  std::size_t piece = 0;
  while (const auto next = job.next_piece(piece)) {
    piece = *next;
    EXPECT_TRUE(job.is_next(piece));
    const auto part = job.take_of(piece);
    ASSERT_TRUE(part);
    EXPECT_EQ(part->bytes.begin, covered);
    EXPECT_EQ(part->piece, covered / kPieceBytes);
    covered += part->bytes.size_bytes;
  }
  EXPECT_EQ(covered, cut.size_bytes());
  EXPECT_FALSE(job.next_piece(0));
}

/// So a thread that was delayed while it waited for the piece's slot holds nothing.
TEST(StagingJobTest, AThreadThatComesLateForAPieceGetsNoPartOfIt) {
  const PiecePlan cut = plan();
  const StagedRanges one({kAddress, cut.size_bytes()});
  StagingJob job(cut, one);
  for (int part = 0; part < 4; ++part) EXPECT_TRUE(job.take_of(0));
  EXPECT_FALSE(job.is_next(0));
  EXPECT_FALSE(job.take_of(0));
  EXPECT_EQ(job.next_piece(0), 1U);
  EXPECT_EQ(job.take_of(1)->bytes.begin, kPieceBytes);
}

/// Piece 0 is late: its slot isn't waited for.
TEST(StagingJobTest, ASlotGoesToTheNextPieceThatHasNoneWhicheverPieceLeavesIt) {
  const PiecePlan cut = plan();
  const StagedRanges one({kAddress, cut.size_bytes()});
  StagingJob job(cut, one);
  for (std::uint32_t slot = 0; slot < 3; ++slot) job.give(job.claim(), {slot, 10});
  EXPECT_EQ(job.slot_of(2)->index, 2U);
  EXPECT_FALSE(job.slot_of(3));
  for (const std::uint32_t left : {1U, 2U, 1U, 2U, 0U}) job.give(job.claim(), {left, 20 + left});
  for (const auto& [piece, slot] : {std::pair{3UL, 1U}, {4UL, 2U}, {5UL, 1U}, {6UL, 2U}}) {
    EXPECT_EQ(job.slot_of(piece)->index, slot);
    EXPECT_EQ(job.slot_of(piece)->ticket, 20 + slot);
  }
  EXPECT_EQ(job.slot_of(kNumPieces - 1)->index, 0U);
  EXPECT_GE(job.claim(), kNumPieces) << "every piece has one";
}

TEST(StagingJobTest, OneThreadFinishesAPieceWhateverTheOrder) {
  const PiecePlan cut = plan();
  const StagedRanges one({kAddress, cut.size_bytes()});
  StagingJob job(cut, one);
  for (const std::size_t piece : {1UL, 0UL}) {
    for (int part = 0; part < 3; ++part) EXPECT_FALSE(job.finish_part(piece));
  }
  EXPECT_TRUE(job.finish_part(0));
  EXPECT_TRUE(job.finish_part(1));
}

TEST(StagingJobTest, AFailureEndsTheCopyAndTheFirstIsThrown) {
  const PiecePlan cut = plan();
  const StagedRanges one({kAddress, cut.size_bytes()});
  StagingJob job(cut, one);
  EXPECT_NO_THROW(job.rethrow());
  EXPECT_TRUE(job.take_of(0));
  fail(job);
  EXPECT_FALSE(job.next_piece(0));
  EXPECT_FALSE(job.is_next(0));
  try {
    throw std::runtime_error("later");
  } catch (...) {
    job.fail();
  }
  EXPECT_TRUE(says(failure_of(job), "no more; bytes [0, 131072) of the target are undefined"));
}

TEST(FullPiecesTest, AreTakenInTheOrderInWhichTheyBecameFull) {
  FullPieces pieces(2);
  EXPECT_TRUE(pieces.empty());
  for (const std::size_t piece : {1UL, 0UL}) pieces.add({piece, 7, {LinkCopy{nullptr, piece, 1}}});
  for (const std::size_t piece : {1UL, 0UL}) {
    EXPECT_FALSE(pieces.empty());
    const auto full = pieces.take();
    ASSERT_TRUE(full);
    EXPECT_EQ(full->piece, piece);
    EXPECT_EQ(full->slot, 7U);
    EXPECT_EQ(full->copies.at(0).device, piece);
  }
  EXPECT_TRUE(pieces.empty());
  EXPECT_FALSE(pieces.take());
}

TEST(FullPiecesTest, HaveOneSenderAtATime) {
  FullPieces pieces(1);
  EXPECT_TRUE(pieces.try_lock());
  EXPECT_FALSE(pieces.try_lock());
  pieces.unlock();
  EXPECT_TRUE(pieces.try_lock());
}

/// It gets a spare slot once, not with each piece that is sent before it.
TEST(StagingJobTest, APieceIsLateOnceTheSecondAfterItWasSent) {
  const PiecePlan cut = plan();
  const StagedRanges one({kAddress, cut.size_bytes()});
  StagingJob job(cut, one);
  const auto num_late_after = [&](std::size_t piece) {
    job.note_enqueued(piece, piece + 4);
    return job.num_newly_late(piece);
  };
  EXPECT_EQ(num_late_after(0), 0U);
  EXPECT_EQ(num_late_after(2), 0U) << "piece 1 is only the one before";
  EXPECT_EQ(num_late_after(3), 1U);
  EXPECT_EQ(job.num_newly_late(3), 0U) << "once";
  EXPECT_EQ(num_late_after(1), 0U);
  EXPECT_EQ(num_late_after(7), 2U) << "pieces 4 and 5";
}

/// Its caller has already looked, and may have returned.
TEST(StagingJobTest, AThreadThatIsLateCantMakeAClosedJobFail) {
  const PiecePlan cut = plan();
  const StagedRanges one({kAddress, cut.size_bytes()});
  StagingJob job(cut, one);
  for (std::size_t piece = 0; piece < kNumPieces; ++piece) {
    EXPECT_FALSE(job.done());
    job.note_done();
  }
  EXPECT_TRUE(job.done());
  job.close();
  try {
    throw std::runtime_error("late");
  } catch (...) {
    job.fail_unless_closed();
  }
  EXPECT_FALSE(job.failed());
  EXPECT_NO_THROW(job.rethrow());
}

TEST(StagingJobTest, AnUploadIsDefinedUpToTheFirstPieceThatWasNotSent) {
  const PiecePlan cut = plan();
  const StagedRanges one({kAddress, cut.size_bytes()});
  StagingJob job(cut, one);
  for (const std::size_t piece : {0UL, 1UL, 3UL}) job.note_enqueued(piece, piece + 4);
  fail(job);
  job.note_undefined(true);
  EXPECT_TRUE(says(failure_of(job), "bytes [32768, 131072)"));
}

/// A slot is reused only when its piece has arrived.
TEST(StagingJobTest, BytesThatMayBeUnderWayAreUndefined) {
  const PiecePlan cut = plan();
  const StagedRanges one({kAddress, cut.size_bytes()});
  StagingJob job(cut, one);
  for (std::size_t piece = 0; piece < 5; ++piece) job.note_enqueued(piece, piece + 3);
  fail(job);
  job.note_undefined(false);
  EXPECT_TRUE(says(failure_of(job), "bytes [32768, 131072)"));
}

TEST(StagingJobTest, ADownloadIsDefinedUpToTheFirstPieceThatIsNotWhole) {
  const PiecePlan cut = plan();
  Bytes memory(cut.size_bytes());
  const MemoryTarget target(reinterpret_cast<std::byte*>(memory.data()), memory.size(),
                            {1, memory.size() + 1}, Backing::anonymous);
  const StagedRanges one({kAddress, cut.size_bytes(), nullptr, &target});
  StagingJob job(cut, one);
  for (int part = 0; part < 4; ++part) job.finish_part(0);
  for (int part = 0; part < 3; ++part) job.finish_part(1);
  fail(job);
  job.note_undefined(true);
  EXPECT_TRUE(says(failure_of(job), "bytes [16384, 131072)"));
}

class StagingPiecesTest : public StagingUnderTest {};

/// With any number of threads: each device copy has a fixed cost.
TEST_F(StagingPiecesTest, OneCopyOfTheDeviceIsMadeForEachPiece) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver tells what was called";
  const isthmus::test::EmulatorControls controls(driver());
  constexpr std::size_t kBytes = 512 * kKiB;
  const CUdeviceptr device = device_memory(kBytes);
  Bytes bytes = pattern(kBytes, 1);
  for (const int num_threads : {1, 8}) {
    RingSettings settings = small_settings(num_threads);
    settings.min_long_bytes = kMiB;
    StagingRing ring(retained(), settings);
    for (const bool up : {true, false}) {
      controls.log_calls(1);
      up ? ring.upload(device, bytes_of(bytes), kBytes, nullptr)
         : ring.download(bytes_of(bytes), device, kBytes, nullptr);
      controls.log_calls(0);
      const std::string log = controls.call_log();
      const std::string symbol = up ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync";
      std::size_t count = 0;
      for (std::size_t at = 0; (at = log.find(symbol, at)) != std::string::npos; ++at) ++count;
      // Of 64 KiB there are 5 or 6, and smaller ones at the ends.
      EXPECT_GE(count, kBytes / (64 * kKiB));
      EXPECT_LE(count, 15U) << symbol;
      controls.reset();
    }
  }
}

}  // namespace
}  // namespace isthmus::transfer
