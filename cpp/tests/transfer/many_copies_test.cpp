// Many copies by one call.
#include <algorithm>
#include <cstring>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kNumPieces = 40;

/// Pieces of unequal size at odd places of one host buffer and one of the device.
class Pieces {
public:
  Pieces(std::byte* host, CUdeviceptr device, std::size_t num_pieces) {
    for (std::size_t i = 0; i < num_pieces; ++i) {
      const std::size_t size_bytes = 1 + i * 977 % 9000;
      up_.push_back({to_pointer(device + used_ + i % 3), host + used_, size_bytes, {}});
      used_ += size_bytes + 5;
    }
  }
  static std::size_t bytes_for(std::size_t num_pieces) { return num_pieces * 9010 + 3; }

  const std::vector<ManyCopy>& up() const { return up_; }
  std::vector<ManyCopy> down() const {
    std::vector<ManyCopy> down;
    for (const ManyCopy& copy : up_)
      down.push_back({const_cast<void*>(copy.source), copy.target, copy.size_bytes, copy.options});
    return down;
  }
  /// True if each piece's bytes are the same in both.
  bool same_in(const Bytes& one, const Bytes& other, const std::byte* host) const {
    return std::ranges::all_of(up_, [&](const ManyCopy& copy) {
      const auto begin = static_cast<const std::byte*>(copy.source) - host;
      return std::equal(one.begin() + begin,
                        one.begin() + begin + static_cast<std::ptrdiff_t>(copy.size_bytes),
                        other.begin() + begin);
    });
  }

private:
  static void* to_pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
  std::vector<ManyCopy> up_;
  std::size_t used_ = 0;
};

class ManyCopies : public TransfersUnderTest {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (!IsSkipped()) prefer_the_ring();
  }
  static std::byte* data(Bytes& bytes) { return reinterpret_cast<std::byte*>(bytes.data()); }
  static std::size_t size() { return Pieces::bytes_for(kNumPieces); }
  static void in_stream(std::vector<ManyCopy>& copies, CUstream stream) {
    for (ManyCopy& copy : copies) copy.options = in(stream);
  }

  /// Sends pieces from memory at `host`, fetches them, and compares.
  void expect_there_and_back(std::byte* host, CUstream stream) {
    const CUdeviceptr device = device_memory(size());
    const Bytes sent = pattern(size(), 3);
    std::memcpy(host, sent.data(), size());
    const Pieces pieces(host, device, kNumPieces);
    std::vector<ManyCopy> up = pieces.up();
    std::vector<ManyCopy> down = pieces.down();
    in_stream(up, stream);
    in_stream(down, stream);
    transfers().copy_many(up);
    std::memset(host, kGuard, size());
    transfers().copy_many(down);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(host);
    const Bytes back(bytes, bytes + size());
    EXPECT_TRUE(pieces.same_in(back, sent, host));
    // Between the pieces nothing is written.
    EXPECT_EQ(back[pieces.up()[0].size_bytes], kGuard);
  }
};

TEST_F(ManyCopies, FromPageableMemoryArriveAndComeBack) {
  Bytes host(size());
  expect_there_and_back(data(host), stream());
}

TEST_F(ManyCopies, FromPinnedMemoryArriveAndComeBack) {
  expect_there_and_back(reinterpret_cast<std::byte*>(pinned_memory(size())), stream());
}

TEST_F(ManyCopies, InTheDefaultStreamArriveAndComeBack) {
  Bytes host(size());
  expect_there_and_back(data(host), nullptr);
}

TEST_F(ManyCopies, OfSmallPiecesAreMadeByOneLaunch) {
  const CUdeviceptr device = device_memory(kMiB);
  auto* const host = reinterpret_cast<std::byte*>(pinned_memory(kMiB));
  std::vector<ManyCopy> copies;
  for (std::size_t i = 0; i < 256; ++i)
    copies.push_back({to_pointer(device + i * 4 * kKiB), host + i * 4 * kKiB, 4 * kKiB, {}});
  const std::uint64_t before = num_copies(CopyPath::kernel);
  transfers().copy_many(copies);
  EXPECT_EQ(num_copies(CopyPath::kernel) - before, copies.size());
}

TEST_F(ManyCopies, AreExplainedAsTheyAreMadeAndNothingIsCopied) {
  const CUdeviceptr device = device_memory(kMiB);
  fill(device, kMiB, 9);
  const Bytes before = on_device(device, kMiB);
  auto* const host = reinterpret_cast<std::byte*>(pinned_memory(kMiB));
  std::vector<ManyCopy> copies;
  for (std::size_t i = 0; i < 256; ++i)
    copies.push_back({to_pointer(device + i * 4 * kKiB), host + i * 4 * kKiB, 4 * kKiB, {}});
  const std::vector<PathShare> shares = transfers().explain_many(copies);
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares[0].path, CopyPath::kernel);
  EXPECT_EQ(shares[0].num_copies, copies.size());
  EXPECT_EQ(shares[0].size_bytes, kMiB);
  EXPECT_GT(shares[0].seconds, 0);
  EXPECT_EQ(on_device(device, kMiB), before);
  EXPECT_EQ(num_copies(CopyPath::kernel), 0U);
}

TEST_F(ManyCopies, LargerThanTheStagingMemoryArriveInRounds) {
  constexpr std::size_t kPieceBytes = 2 * kKiB;
  constexpr std::size_t kNum = 6000;  // 12 MiB, and a half holds four
  const CUdeviceptr device = device_memory(kPieceBytes * kNum);
  const Bytes sent = pattern(kPieceBytes * kNum, 5);
  Bytes back(sent.size());
  std::vector<ManyCopy> up;
  std::vector<ManyCopy> down;
  for (std::size_t i = 0; i < kNum; ++i) {
    const std::size_t at = i * kPieceBytes;
    up.push_back({to_pointer(device + at), sent.data() + at, kPieceBytes, {}});
    down.push_back({back.data() + at, to_pointer(device + at), kPieceBytes, {}});
  }
  transfers().copy_many(up);
  transfers().copy_many(down);
  EXPECT_EQ(back, sent);
  EXPECT_EQ(num_copies(CopyPath::kernel), 2 * kNum);
}

TEST_F(ManyCopies, OfAllSizesAndDirectionsArriveTogether) {
  const CUdeviceptr device = device_memory(24 * kMiB);
  const Bytes sent = pattern(8 * kMiB, 6);
  fill(device + 12 * kMiB, 8 * kMiB, 77);
  Bytes back(8 * kMiB);
  Bytes own(kMiB);
  const std::vector<ManyCopy> copies{
      {to_pointer(device), sent.data(), sent.size(), {}},
      {to_pointer(device + 8 * kMiB), sent.data(), 13, {}},
      {to_pointer(device + 9 * kMiB), sent.data() + 13, 0, {}},
      {back.data(), to_pointer(device + 12 * kMiB), 8 * kMiB - 1, {}},
      {to_pointer(device + 21 * kMiB), to_pointer(device + 12 * kMiB), kMiB, {}},
      {own.data(), sent.data() + 1, kMiB, {}}};
  transfers().copy_many(copies);
  EXPECT_EQ(on_device(device, sent.size()), sent);
  EXPECT_EQ(on_device(device + 8 * kMiB, 13), Bytes(sent.begin(), sent.begin() + 13));
  EXPECT_TRUE(all_are(back, 0, back.size() - 1, 77));
  EXPECT_TRUE(all_are(on_device(device + 21 * kMiB, kMiB), 0, kMiB, 77));
  EXPECT_EQ(own, Bytes(sent.begin() + 1, sent.begin() + 1 + kMiB));
}

TEST_F(ManyCopies, BeginAfterTheWorkOfTheirStream) {
  const CUdeviceptr device = device_memory(size());
  Bytes host = pattern(size(), 7);
  const Pieces pieces(data(host), device, kNumPieces);
  std::vector<ManyCopy> down = pieces.down();
  const CUstream own = stream();
  in_stream(down, own);
  // The kernel is loaded before: a real driver may wait then for what runs on the device.
  transfers().copy_many(pieces.up());
  contract::Gate held = gate();
  held.hold(own);
  driver().call(symbol::memset_d8_async)(device, std::uint8_t{9}, size(), own);
  CopyFuture future = transfers().copy_many_async(down);
  EXPECT_FALSE(future.ready());
  held.open();
  future.wait();
  for (const ManyCopy& copy : down) {
    const auto* const bytes = static_cast<const std::uint8_t*>(copy.target);
    EXPECT_TRUE(all_are(Bytes(bytes, bytes + copy.size_bytes), 0, copy.size_bytes, 9));
  }
}

TEST_F(ManyCopies, LetTheirSourcesBeChangedAtOnce) {
  for (const bool pinned : {false, true}) {
    SCOPED_TRACE(pinned);
    const CUdeviceptr device = device_memory(size());
    Bytes pageable(size());
    std::byte* const host =
        pinned ? reinterpret_cast<std::byte*>(pinned_memory(size())) : data(pageable);
    const Bytes sent = pattern(size(), 8);
    std::memcpy(host, sent.data(), size());
    const Pieces pieces(host, device, kNumPieces);
    std::vector<ManyCopy> up = pieces.up();
    in_stream(up, stream());
    CopyFuture future = transfers().copy_many_async(up);
    std::memset(host, kGuard, size());
    future.wait();
    transfers().copy_many(pieces.down());
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(host);
    EXPECT_TRUE(pieces.same_in(Bytes(bytes, bytes + size()), sent, host));
  }
}

TEST_F(ManyCopies, AreFollowedByTheWorkOfTheirStream) {
  const CUdeviceptr device = device_memory(size());
  const CUdeviceptr copy = device_memory(size());
  Bytes host = pattern(size(), 9);
  fill(device, size(), 0);
  const Pieces pieces(data(host), device, kNumPieces);
  std::vector<ManyCopy> up = pieces.up();
  const CUstream own = stream();
  in_stream(up, own);
  CopyFuture future = transfers().copy_many_async(up);
  EXPECT_NE(future.event(), 0u);
  driver().call(symbol::memcpy_dtod_async)(copy, device, size(), own);
  synchronize(own);
  EXPECT_EQ(on_device(copy, size()), on_device(device, size()));
  future.wait();
}

TEST_F(ManyCopies, WithOverlappingTargetsAreRefusedBeforeAnythingIsWritten) {
  const CUdeviceptr device = device_memory(kMiB);
  fill(device, kMiB, 1);
  const Bytes sent(kMiB, 2);
  const std::vector<ManyCopy> copies{{to_pointer(device), sent.data(), 100, {}},
                                     {to_pointer(device + 500), sent.data(), 100, {}},
                                     {to_pointer(device + 599), sent.data(), 100, {}}};
  const std::string message = message_of<UsageError>([&] { transfers().copy_many(copies); });
  EXPECT_TRUE(says(message, "copy 2")) << message;
  EXPECT_TRUE(says(message, "overlaps the target of copy 1")) << message;
  EXPECT_TRUE(all_are(on_device(device, kMiB), 0, kMiB, 1));
}

TEST_F(ManyCopies, ThatReadWhatAnotherWritesAreRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  const std::vector<ManyCopy> swap{{to_pointer(device), to_pointer(device + 100), 100, {}},
                                   {to_pointer(device + 100), to_pointer(device), 100, {}}};
  EXPECT_THROW(transfers().copy_many(swap), UsageError);
  EXPECT_THROW(transfers().copy_many_async(swap), UsageError);
}

TEST_F(ManyCopies, ThatReadTheSameSourceAreMade) {
  const CUdeviceptr device = device_memory(kMiB);
  const Bytes sent = pattern(kKiB, 4);
  const std::vector<ManyCopy> copies{{to_pointer(device), sent.data(), kKiB, {}},
                                     {to_pointer(device + kKiB), sent.data(), kKiB, {}}};
  transfers().copy_many(copies);
  EXPECT_EQ(on_device(device + kKiB, kKiB), sent);
}

TEST_F(ManyCopies, OfWhichOneIsWrongCopyNothing) {
  const CUdeviceptr device = device_memory(kMiB);
  fill(device, kMiB, 1);
  const Bytes sent(kMiB, 2);
  const std::vector<ManyCopy> copies{{to_pointer(device), sent.data(), 100, {}},
                                     {to_pointer(device + 500), nullptr, 100, {}}};
  const std::string message = message_of<UsageError>([&] { transfers().copy_many(copies); });
  EXPECT_TRUE(says(message, "copy 1")) << message;
  EXPECT_TRUE(all_are(on_device(device, kMiB), 0, kMiB, 1));
}

TEST_F(ManyCopies, OfNothingAreComplete) {
  transfers().copy_many({});
  EXPECT_TRUE(transfers().copy_many_async({}).ready());
}

TEST_F(ManyCopies, WithoutAKernelAreMadeOneByOne) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const isthmus::test::EmulatorControls emulator(driver());
  emulator.fail_call("cuModuleLoadData", 1, CUDA_ERROR_NOT_SUPPORTED);
  Bytes host(size());
  expect_there_and_back(data(host), stream());
  emulator.reset();
  EXPECT_EQ(num_copies(CopyPath::kernel), 0u);
}

TEST_F(ManyCopies, WhoseLaunchFailsSayThatAllTargetsAreUndefined) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const CUdeviceptr device = device_memory(size());
  auto* const host = reinterpret_cast<std::byte*>(pinned_memory(size()));
  const Pieces pieces(host, device, kNumPieces);
  transfers().copy_many(pieces.up());
  ASSERT_GT(num_copies(CopyPath::kernel), 0u);
  const isthmus::test::EmulatorControls emulator(driver());
  emulator.fail_call("cuLaunchKernel", 1, CUDA_ERROR_ECC_UNCORRECTABLE);
  const std::string message = message_of<DriverError>([&] { transfers().copy_many(pieces.up()); });
  emulator.reset();
  EXPECT_TRUE(says(message, "undefined")) << message;
  transfers().copy_many(pieces.up());
}

TEST_F(ManyCopies, OfWhichALaterOneIsUnavailableSayThatAllTargetsAreUndefined) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const CUdeviceptr device = device_memory(2 * kMiB);
  const Bytes host(kMiB);
  const std::vector<ManyCopy> copies{
      {to_pointer(device), pinned_memory(kMiB), kMiB, {}},
      {to_pointer(device + kMiB), host.data(), kMiB, by("registered")}};
  const isthmus::test::EmulatorControls emulator(driver());
  emulator.fail_call("cuMemHostRegister", 1, CUDA_ERROR_NOT_SUPPORTED);
  const std::string message = message_of<Unavailable>([&] { transfers().copy_many(copies); });
  emulator.reset();
  EXPECT_TRUE(says(message, "all bytes of the call's targets are undefined")) << message;
}

TEST_F(ManyCopies, InACapturedStreamAreRecordedOneByOne) {
  const CUdeviceptr device = device_memory(kMiB);
  auto* const host = reinterpret_cast<std::byte*>(pinned_memory(kMiB));
  const CUstream own = stream();
  std::vector<ManyCopy> copies;
  for (std::size_t i = 0; i < 64; ++i)
    copies.push_back({to_pointer(device + i * kKiB), host + i * kKiB, kKiB, in(own)});
  GlobalCapture capture(driver(), own);
  transfers().copy_many(copies);
  EXPECT_EQ(capture.end(), CUDA_SUCCESS);
  EXPECT_EQ(num_copies(CopyPath::kernel), 0u);
}

using FutureOfACopy = TransfersUnderTest;

TEST_F(FutureOfACopy, ThatHasNotBegunIsCancelled) {
  const CUdeviceptr device = device_memory(kMiB);
  fill(device, kMiB, 3);
  const CUstream own = stream();
  Bytes target(kMiB, kGuard);
  contract::Gate held = gate();
  held.hold(own);
  CopyFuture future =
      transfers().copy_async(target.data(), to_pointer(device), target.size(), in(own));
  EXPECT_TRUE(future.cancel());
  EXPECT_TRUE(future.ready());
  EXPECT_TRUE(future.over());
  EXPECT_THROW(future.wait(), UsageError);
  EXPECT_FALSE(future.cancel());
  held.open();
  synchronize(own);
  transfers().copy_async(target.data(), to_pointer(device), 1, in(own)).wait();
  EXPECT_TRUE(all_are(target, 1, target.size(), kGuard));
}

TEST_F(FutureOfACopy, ThatTheDriverHasIsNotCancelled) {
  const CUdeviceptr device = device_memory(kMiB);
  const CUstream own = stream();
  auto* const pinned = pinned_memory(kMiB);
  contract::Gate held = gate();
  held.hold(own);
  CopyFuture future = transfers().copy_async(pinned, to_pointer(device), kMiB, in(own));
  EXPECT_FALSE(future.cancel());
  held.open();
  future.wait();
}

TEST_F(FutureOfACopy, DelaysAStreamUntilTheCopyHasEnded) {
  const CUdeviceptr device = device_memory(kMiB);
  const CUdeviceptr copied = device_memory(kMiB);
  auto* const pinned = pinned_memory(kMiB);
  std::memset(pinned, 4, kMiB);
  const CUstream own = stream();
  const CUstream other = stream();
  contract::Gate held = gate();
  held.hold(own);
  CopyFuture future =
      transfers().copy_async(to_pointer(device), pinned, kMiB, in(own), SourceOrder::stream);
  future.delay(reinterpret_cast<std::uintptr_t>(other));
  driver().call(symbol::memcpy_dtod_async)(copied, device, kMiB, other);
  held.open();
  synchronize(other);
  EXPECT_TRUE(all_are(on_device(copied, kMiB), 0, kMiB, 4));
}

TEST_F(FutureOfACopy, ThatAThreadMakesCanNotDelayAStream) {
  const CUdeviceptr device = device_memory(kMiB);
  const CUstream own = stream();
  Bytes target(kMiB);
  contract::Gate held = gate();
  held.hold(own);
  CopyFuture future =
      transfers().copy_async(target.data(), to_pointer(device), target.size(), in(own));
  EXPECT_FALSE(future.ordered());
  EXPECT_EQ(future.event(), 0u);
  EXPECT_THROW(future.delay(0), Unavailable);
  held.open();
  future.wait();
  EXPECT_TRUE(future.ordered());
  future.delay(0);
}

}  // namespace
}  // namespace isthmus::transfer
