// Many ranges that a ring copies as one: all arrive, nothing else is written, and ranges keep their
// alignment in the slots.
#include <algorithm>
#include <cstring>
#include <random>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "host/memory/huge_mapping.hpp"
#include "transfer/mapped_file.hpp"
#include "transfer/staging/staged_ranges.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kAlignment = 64;

TEST(StagedRangesTest, KeepTheirAlignmentInASlotAndStayApart) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::size_t address = random() >> 20U;
    StagedRanges ranges(address);
    for (int i = 0; i < 20; ++i) {
      const std::size_t host = i == 0 ? address : random() >> 20U;
      const std::size_t grain = std::size_t{1} << (6 + random() % 16);
      ranges.add({random() >> 20U, 1 + random() % 5000}, host, grain);
      EXPECT_EQ((address + ranges.all().back().begin) % grain, host % grain);
    }
    const Piece piece{random() % ranges.size_bytes(), 1 + random() % ranges.size_bytes()};
    std::size_t end = 0;
    ranges.each_in(piece, [&](const Fragment& fragment) {
      const std::size_t place = StagedRanges::place_of(fragment, piece);
      ASSERT_GE(place, end);
      ASSERT_EQ(place % kAlignment, fragment.device() % kAlignment);
      ASSERT_LT(place, fragment.begin() - piece.begin + kAlignment);
      end = place + fragment.size_bytes;
    });
  }
}

TEST(StagedRangesTest, AreCoveredOnceByConsecutivePieces) {
  std::mt19937_64 random(2);
  StagedRanges ranges(std::size_t{0});
  std::size_t sum = 0;
  for (int i = 0; i < 100; ++i) {
    const std::size_t size_bytes = 1 + random() % 3000;
    ranges.add({0, size_bytes}, random() % 9000, 4096);
    sum += size_bytes;
  }
  std::vector<std::size_t> covered(ranges.all().size());
  for (std::size_t begin = 0; begin < ranges.size_bytes();) {
    const std::size_t size_bytes = std::min(1 + random() % 5000, ranges.size_bytes() - begin);
    ranges.each_in({begin, size_bytes}, [&](const Fragment& fragment) {
      std::size_t& done = covered[static_cast<std::size_t>(fragment.range - ranges.all().data())];
      EXPECT_EQ(fragment.offset_bytes, done);
      done += fragment.size_bytes;
      sum -= fragment.size_bytes;
    });
    begin += size_bytes;
  }
  EXPECT_EQ(sum, 0U);
}

class StagingListTest : public StagingUnderTest, public testing::WithParamInterface<int> {
protected:
  static constexpr std::size_t kBytes = 4 * kMiB;

  void SetUp() override {
    StagingUnderTest::SetUp();
    device_ = device_memory(kBytes);
    stream_ = stream();
  }
  RingSettings settings() const {
    RingSettings settings = small_settings(GetParam());
    settings.min_huge_bytes = kMiB;
    return settings;
  }

  /// Ranges at odd places of `host` and of the device, with bytes between them that belong to none.
  std::vector<LinkPiece> random_pieces(std::mt19937_64& random, std::byte* host) const {
    std::vector<LinkPiece> pieces;
    std::size_t at_host = random() % 100;
    std::size_t at_device = random() % 100;
    while (true) {
      const std::size_t most = random() % 10 == 0 ? 3 * kMiB / 2 : random() % 2 == 0 ? 300 : 60'000;
      const std::size_t size_bytes = 1 + random() % most;
      if (std::max(at_host, at_device) + size_bytes > kBytes) break;
      pieces.push_back({device_ + at_device, host + at_host, size_bytes});
      at_host += size_bytes + 1 + random() % 200;
      at_device += size_bytes + 1 + random() % 200;
    }
    std::ranges::shuffle(pieces, random);
    return pieces;
  }

  /// What memory full of guards holds after the pieces were copied to it.
  static Bytes expected(const std::vector<LinkPiece>& pieces, const Bytes& sent, CUdeviceptr device,
                        const std::byte* host, bool up) {
    Bytes found(kBytes, kGuard);
    for (const LinkPiece& piece : pieces) {
      const std::size_t at_host = static_cast<std::size_t>(piece.host - host);
      const std::size_t at_device = piece.device - device;
      std::memcpy(found.data() + (up ? at_device : at_host),
                  sent.data() + (up ? at_host : at_device), piece.size_bytes);
    }
    return found;
  }

  CUdeviceptr device_ = 0;
  CUstream stream_ = nullptr;
};

TEST_P(StagingListTest, EveryRangeIsUploadedAndNothingBetween) {
  StagingRing ring(retained(), settings());
  std::mt19937_64 random(3);
  for (unsigned round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    Bytes source = pattern(kBytes, round);
    const Bytes sent = source;
    const auto pieces = random_pieces(random, bytes_of(source));
    fill(device_, kBytes, kGuard);
    const bool staged = round % 2 == 0;
    ring.upload(pieces, stream_, staged ? UploadEnd::staged : UploadEnd::complete);
    std::ranges::fill(source, std::uint8_t{0});  // the ring has read it
    synchronize(stream_);
    ASSERT_EQ(on_device(device_, kBytes), expected(pieces, sent, device_, bytes_of(source), true));
  }
}

TEST_P(StagingListTest, EveryRangeIsDownloadedAndNothingBetween) {
  StagingRing ring(retained(), settings());
  std::mt19937_64 random(4);
  for (unsigned round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    const Bytes sent = pattern(kBytes, round);
    send_to_device(device_, sent);
    Bytes target(kBytes, kGuard);
    const auto pieces = random_pieces(random, bytes_of(target));
    ring.download(pieces, stream_);
    ASSERT_EQ(target, expected(pieces, sent, device_, bytes_of(target), false));
  }
}

TEST_P(StagingListTest, MemoryWithoutPagesIsFilled) {
  StagingRing ring(retained(), settings());
  std::mt19937_64 random(5);
  const Bytes sent = pattern(kBytes, 1);
  send_to_device(device_, sent);
  const host::PageableBuffer fresh(kBytes);
  const auto pieces = random_pieces(random, fresh.data());
  ring.download(pieces, stream_);
  for (const LinkPiece& piece : pieces)
    ASSERT_EQ(std::memcmp(piece.host, sent.data() + (piece.device - device_), piece.size_bytes), 0);
}

TEST_P(StagingListTest, AMappedFileMayBeAmongTheRanges) {
  StagingRing ring(retained(), settings());
  Bytes first = pattern(100 * kKiB, 1);
  Bytes second = pattern(50 * kKiB, 2);
  const MappedFile file(second);
  const std::vector<LinkPiece> pieces{{device_, bytes_of(first), first.size()},
                                      {device_ + first.size(), file.data(), second.size()}};
  ring.upload(pieces, stream_);
  Bytes both = first;
  both.insert(both.end(), second.begin(), second.end());
  EXPECT_EQ(on_device(device_, both.size()), both);
  std::memset(file.data(), 0, second.size());
  ring.download(pieces, stream_);
  EXPECT_EQ(std::memcmp(file.data(), second.data(), second.size()), 0);
}

TEST_P(StagingListTest, AFileThatIsCutShortIsAUsageErrorAndTheRingGoesOn) {
  StagingRing ring(retained(), settings());
  Bytes first = pattern(100 * kKiB, 1);
  const MappedFile file(pattern(50 * kKiB, 2));
  file.truncate(4096);
  const std::vector<LinkPiece> pieces{{device_, bytes_of(first), first.size()},
                                      {device_ + first.size(), file.data(), 50 * kKiB}};
  for (const bool up : {true, false}) {
    const std::string message = message_of<UsageError>(
        [&] { up ? ring.upload(pieces, stream_) : ring.download(pieces, stream_); });
    EXPECT_TRUE(says(message, "become shorter")) << message;
    EXPECT_FALSE(says(message, "bytes [")) << message;
  }
  ring.upload(std::span(pieces).first(1), stream_);
  EXPECT_EQ(on_device(device_, first.size()), first);
}

TEST_P(StagingListTest, ThePiecesOfManyRangesCrossByOneCallEach) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver tells what was called";
  const isthmus::test::EmulatorControls controls(driver());
  RingSettings whole = settings();
  whole.min_long_bytes = kMiB;
  StagingRing ring(retained(), whole);
  Bytes host = pattern(512 * kKiB, 1);
  std::vector<LinkPiece> pieces;
  for (std::size_t at = 0; at < host.size(); at += kKiB)
    pieces.push_back({device_ + at, bytes_of(host) + at, kKiB});
  for (const bool up : {true, false}) {
    controls.log_calls(1);
    up ? ring.upload(pieces, stream_) : ring.download(pieces, stream_);
    controls.log_calls(0);
    const auto counts = isthmus::test::counts_of_calls(controls.call_log());
    controls.reset();
    ASSERT_TRUE(counts.contains("cuMemcpyBatchAsync"));
    EXPECT_GE(counts.at("cuMemcpyBatchAsync"), 8);
    EXPECT_LE(counts.at("cuMemcpyBatchAsync"), 16);
  }
}

TEST_P(StagingListTest, WithoutTheDriversBatchesRangesCrossOneByOne) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver hides functions";
  Bytes host = pattern(100 * kKiB, 1);
  const Bytes sent = host;
  std::vector<LinkPiece> pieces;
  for (std::size_t at = 0; at < host.size(); at += kKiB)
    pieces.push_back({device_ + at, bytes_of(host) + at, kKiB});
  const isthmus::test::EmulatorControls controls(driver());
  controls.hide_symbol("cuMemcpyBatchAsync");
  const Driver older = Driver::open(driver().path());
  StagingRing ring(Context::retain(older, 0), settings());
  ring.upload(pieces, stream_);
  EXPECT_EQ(on_device(device_, sent.size()), sent);
  std::ranges::fill(host, std::uint8_t{0});
  ring.download(pieces, stream_);
  EXPECT_EQ(host, sent);
  controls.reset();
}

INSTANTIATE_TEST_SUITE_P(Threads, StagingListTest, testing::Values(1, 3),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace isthmus::transfer
