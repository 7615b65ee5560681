// Every size and alignment arrives, with any number of threads, and nothing outside the target is
// written.
#include <numeric>
#include <random>

#include "environment_variable.hpp"
#include "host/memory/huge_mapping.hpp"
#include "transfer/staging/slot_filler.hpp"
#include "transfer/staging/staging_job.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

class StagingCopyTest : public StagingUnderTest, public testing::WithParamInterface<int> {
protected:
  /// Both directions at these offsets, with guards around both targets.
  void expect_round_trip(StagingRing& ring, std::size_t size, std::size_t host_offset,
                         std::size_t device_offset) {
    const Bytes sent = pattern(host_offset + size, static_cast<unsigned>(size));
    const std::size_t device_bytes = size + device_offset + kGuardBytes;
    fill(device_, device_bytes, kGuard);
    ring.upload(device_ + device_offset, bytes_of(sent) + host_offset, size, stream_);
    const Bytes arrived = on_device(device_, device_bytes);
    ASSERT_TRUE(all_are(arrived, 0, device_offset, kGuard));
    ASSERT_TRUE(all_are(arrived, device_offset + size, device_bytes, kGuard));
    ASSERT_EQ(std::memcmp(arrived.data() + device_offset, sent.data() + host_offset, size), 0);
    Bytes received(host_offset + size + kGuardBytes, kGuard);
    ring.download(bytes_of(received) + host_offset, device_ + device_offset, size, stream_);
    ASSERT_TRUE(all_are(received, 0, host_offset, kGuard));
    ASSERT_TRUE(all_are(received, host_offset + size, received.size(), kGuard));
    ASSERT_EQ(std::memcmp(received.data() + host_offset, sent.data() + host_offset, size), 0);
  }

  /// The same, at an offset on the device, and staged.
  void expect_round_trip_beyond(StagingRing& ring, std::size_t offset) {
    const Bytes sent = pattern(300 * kKiB, static_cast<unsigned>(offset));
    Bytes received(sent.size());
    ring.upload(device_ + offset, bytes_of(sent), sent.size(), stream_, UploadEnd::staged);
    ring.download(bytes_of(received), device_ + offset, sent.size(), stream_);
    ASSERT_EQ(received, sent);
  }

  void SetUp() override {
    StagingUnderTest::SetUp();
    device_ = device_memory(3 * kMiB);
    stream_ = stream();
  }

  CUdeviceptr device_ = 0;
  CUstream stream_ = nullptr;
};

TEST_P(StagingCopyTest, EverySizeAroundTheBordersArrivesAtEveryAlignment) {
  StagingRing ring(retained(), small_settings(GetParam()));
  for (const std::size_t border : {1UL, 64UL, 4 * kKiB, 16 * kKiB, 64 * kKiB, 200 * kKiB}) {
    for (const std::size_t size : {border - 1, border, border + 1}) {
      if (size == 0) continue;
      for (const std::size_t offset : {0UL, 1UL, 63UL, 100UL}) {
        SCOPED_TRACE(std::to_string(size) + " bytes at " + std::to_string(offset));
        ASSERT_NO_FATAL_FAILURE(expect_round_trip(ring, size, offset, 7 * offset % 64));
      }
    }
  }
}

TEST_P(StagingCopyTest, RandomCopiesArrive) {
  StagingRing ring(retained(), small_settings(GetParam()));
  std::mt19937_64 random(7);
  for (int round = 0; round < 40; ++round) {
    const std::size_t size = 1 + random() % (2 * kMiB);
    SCOPED_TRACE(std::to_string(size) + " bytes");
    ASSERT_NO_FATAL_FAILURE(expect_round_trip(ring, size, random() % 5000, random() % 5000));
  }
}

TEST_P(StagingCopyTest, AnyNumberOfSlotsWorksWithEitherMark) {
  RingSettings settings = small_settings(GetParam());
  for (const int num_slots : {1, 2, 9}) {
    for (const bool by_events : {false, true}) {
      settings.num_slots = num_slots;
      settings.marks_by_events = by_events;
      StagingRing ring(retained(), settings);
      for (const std::size_t size : {64 * kKiB, kMiB + 12345}) {
        ASSERT_NO_FATAL_FAILURE(expect_round_trip(ring, size, 5, 3));
      }
    }
  }
}

/// Few short slots are still in the caches when they are used again. What follows another copy finds all
/// slots there.
TEST_P(StagingCopyTest, ALongUploadAfterAPauseTakesShorterPieces) {
  const isthmus::test::EnvironmentVariable spin_time("ISTHMUS_SPIN_US", "1000000");
  CopyMoments moments;
  RingSettings settings = small_settings(GetParam());
  settings.min_long_bytes = 300 * kKiB;
  settings.moments = &moments;
  StagingRing ring(retained(), settings);
  const auto num_pieces_of = [&](std::size_t size_bytes) {
    const Bytes sent = pattern(size_bytes, static_cast<unsigned>(size_bytes));
    moments.clear();
    ring.upload(device_, bytes_of(sent), size_bytes, stream_);
    EXPECT_EQ(on_device(device_, size_bytes), sent);
    return static_cast<std::size_t>(moments.num_pieces());
  };
  constexpr std::size_t kLongBytes = 512 * kKiB;
  EXPECT_GE(num_pieces_of(kLongBytes), kLongBytes / (16 * kKiB)) << "the first";
  EXPECT_LT(num_pieces_of(kLongBytes), kLongBytes / (24 * kKiB)) << "follows at once";
  EXPECT_GE(num_pieces_of(2 * kMiB), 2 * kMiB / (32 * kKiB)) << "longer than the caches";
}

TEST_P(StagingCopyTest, PartsMayHaveAnySize) {
  RingSettings settings = small_settings(GetParam());
  for (const std::size_t part_bytes : {1000UL, 4 * kKiB, 200 * kKiB}) {
    settings.min_part_bytes = settings.max_part_bytes = part_bytes;
    StagingRing ring(retained(), settings);
    ASSERT_NO_FATAL_FAILURE(expect_round_trip(ring, kMiB + 12345, 5, 3));
  }
}

TEST_P(StagingCopyTest, TheOrdinarySettingsCopyToo) {
  RingSettings settings;
  settings.num_threads = GetParam();
  settings.beyond_cores = true;
  StagingRing ring(retained(), settings);
  for (const std::size_t size : {kMiB, 2 * kMiB + 12345}) {
    ASSERT_NO_FATAL_FAILURE(expect_round_trip(ring, size, 1, 3));
  }
}

TEST_P(StagingCopyTest, AFreshTargetIsFilledInSmallPagesOrHuge) {
  constexpr std::size_t kBytes = 12 * kMiB + 100;
  const CUdeviceptr device = device_memory(kBytes);
  const Bytes sent = pattern(kBytes, 3);
  send_to_device(device, sent);
  RingSettings settings;
  settings.num_threads = GetParam();
  settings.beyond_cores = true;
  for (const std::size_t min_huge_bytes : {kMiB, 16 * kMiB}) {
    settings.min_huge_bytes = min_huge_bytes;
    StagingRing ring(retained(), settings);
    const host::PageableBuffer fresh(kBytes + 2 * kGuardBytes);
    ring.download(fresh.data() + kGuardBytes, device, kBytes, stream_);
    EXPECT_EQ(std::memcmp(fresh.data() + kGuardBytes, sent.data(), kBytes), 0);
    for (std::size_t i = 0; i < kGuardBytes; ++i) {
      ASSERT_EQ(fresh.data()[i], std::byte{0});
      ASSERT_EQ(fresh.data()[kGuardBytes + kBytes + i], std::byte{0});
    }
  }
}

TEST_P(StagingCopyTest, NothingIsCopiedFor0Bytes) {
  StagingRing ring(retained(), small_settings(GetParam()));
  ring.upload(0, static_cast<const std::byte*>(nullptr), 0, stream_);
  ring.download(nullptr, 0, 0, stream_);
  EXPECT_EQ(ring.pinned_bytes(), 0U);
}

/// Bytes that aren't in memory, with a different lead in each piece.
class Counting final : public SlotFiller {
public:
  std::size_t fill(std::byte* slot, std::size_t offset_bytes,
                   std::size_t size_bytes) const override {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot) % 4096, 0U);
    const std::size_t lead = offset_bytes / kKiB % kSlotSlackBytes;
    for (std::size_t i = 0; i < size_bytes; ++i) slot[lead + i] = byte_at(offset_bytes + i);
    return lead;
  }
  static std::byte byte_at(std::size_t offset) {
    return static_cast<std::byte>(offset * 167 >> 3U);
  }
};

TEST_P(StagingCopyTest, AFillerFillsSlotsOfItsOwnAlsoBetweenOtherCopies) {
  StagingRing ring(retained(), small_settings(GetParam()));
  constexpr std::size_t kBytes = 500 * kKiB + 11;
  for (int round = 0; round < 3; ++round) {
    fill(device_, kBytes, kGuard);
    ring.upload(device_ + 5, Counting(), kBytes, stream_, UploadEnd::staged);
    ASSERT_NO_FATAL_FAILURE(expect_round_trip_beyond(ring, kBytes + 5));
    const Bytes arrived = on_device(device_ + 5, kBytes);
    for (std::size_t i = 0; i < kBytes; ++i) {
      ASSERT_EQ(std::byte{arrived[i]}, Counting::byte_at(i)) << "at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ByThreads, StagingCopyTest, testing::Values(1, 2, 8));

}  // namespace
}  // namespace isthmus::transfer
