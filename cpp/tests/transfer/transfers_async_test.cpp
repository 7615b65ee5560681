// Copies that return before they are complete.
#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

class AsyncCopy : public TransfersUnderTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(AsyncCopy, LetsItsSourceBeChangedAtOnce) {
  const CUdeviceptr device = device_memory(GetParam());
  Bytes source = pattern(GetParam(), 1);
  const Bytes sent = source;
  CopyFuture future =
      transfers().copy_async(to_pointer(device), source.data(), source.size(), in(stream()));
  std::fill(source.begin(), source.end(), kGuard);
  future.wait();
  EXPECT_TRUE(future.ready());
  EXPECT_EQ(on_device(device, sent.size()), sent);
}

TEST_P(AsyncCopy, IsFollowedByTheWorkOfItsStream) {
  const CUdeviceptr device = device_memory(GetParam());
  const CUdeviceptr copy = device_memory(GetParam());
  const CUstream own = stream();
  const Bytes source = pattern(GetParam(), 2);
  transfers().copy_async(to_pointer(device), source.data(), source.size(), in(own));
  driver().call(symbol::memcpy_dtod_async)(copy, device, source.size(), own);
  synchronize(own);
  EXPECT_EQ(on_device(copy, source.size()), source);
}

TEST_P(AsyncCopy, ToPageableMemoryIsCompleteAfterWaiting) {
  const CUdeviceptr device = device_memory(GetParam());
  const CUstream own = stream();
  const Bytes bytes = pattern(GetParam(), 3);
  send_to_device(device, bytes);
  Bytes target(GetParam());
  transfers().copy_async(target.data(), to_pointer(device), target.size(), in(own)).wait();
  EXPECT_EQ(target, bytes);
}

TEST_P(AsyncCopy, FromASourceThatIsReadLaterIsCompleteAfterWaiting) {
  const CUdeviceptr device = device_memory(GetParam());
  const Bytes bytes = pattern(GetParam(), 4);
  transfers()
      .copy_async(to_pointer(device), bytes.data(), bytes.size(), in(stream()), SourceOrder::stream)
      .wait();
  EXPECT_EQ(on_device(device, bytes.size()), bytes);
}

INSTANTIATE_TEST_SUITE_P(Sizes, AsyncCopy, testing::Values(1, 100, 64 * kKiB + 1, 9 * kMiB));

using Asynchronous = TransfersUnderTest;

TEST_F(Asynchronous, CopiesWaitForWhatTheirStreamHadBeforeButNotForWhatCameLater) {
  const CUdeviceptr device = device_memory(kMiB);
  const CUstream own = stream();
  contract::Gate before = gate();
  contract::Gate after = gate();
  Bytes target(kMiB);
  before.hold(own);
  driver().call(symbol::memset_d8_async)(device, std::uint8_t{7}, kMiB, own);
  CopyFuture future =
      transfers().copy_async(target.data(), to_pointer(device), target.size(), in(own));
  after.hold(own);
  EXPECT_FALSE(future.ready());
  before.open();
  future.wait();
  EXPECT_TRUE(all_are(target, 0, target.size(), 7));
  after.open();
}

TEST_F(Asynchronous, CopiesOfABusyStreamHoldUpNoOthers) {
  const CUdeviceptr device = device_memory(kMiB);
  const CUstream busy = stream();
  Bytes first(kMiB);
  Bytes second(kMiB);
  contract::Gate held = gate();
  held.hold(busy);
  CopyFuture waiting =
      transfers().copy_async(first.data(), to_pointer(device), first.size(), in(busy));
  transfers().copy_async(second.data(), to_pointer(device), second.size(), in(stream())).wait();
  EXPECT_FALSE(waiting.ready());
  held.open();
  waiting.wait();
}

TEST_F(Asynchronous, CopiesOfPinnedMemoryAreOrderedByTheStream) {
  const CUdeviceptr device = device_memory(kMiB);
  const CUstream own = stream();
  auto* const pinned = pinned_memory(kMiB);
  std::memset(pinned, 9, kMiB);
  contract::Gate held = gate();
  held.hold(own);
  CopyFuture future =
      transfers().copy_async(to_pointer(device), pinned, kMiB, in(own), SourceOrder::stream);
  EXPECT_FALSE(future.ready());
  held.open();
  future.wait();
  EXPECT_TRUE(all_are(on_device(device, kMiB), 0, kMiB, 9));
}

TEST_F(Asynchronous, CopiesThatFailGiveTheirErrorToTheWaitingThread) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const CUdeviceptr device = device_memory(kMiB);
  Bytes target(kMiB);
  contract::Gate held = gate();
  const CUstream own = stream();
  held.hold(own);
  CopyFuture future =
      transfers().copy_async(target.data(), to_pointer(device), target.size(), in(own));
  const isthmus::test::EmulatorControls emulator(driver());
  for (const char* const symbol : {"cuMemcpyDtoHAsync", "cuMemcpyDtoH"})
    for (int nth = 1; nth <= 4; ++nth)
      emulator.fail_call(symbol, nth, CUDA_ERROR_ECC_UNCORRECTABLE);
  held.open();
  const std::string message = message_of<DriverError>([&] { future.wait(); });
  emulator.reset();
  EXPECT_TRUE(says(message, "ECC_UNCORRECTABLE")) << message;
  EXPECT_EQ(download(device, 16).size(), 16u);
}

TEST_F(Asynchronous, CopiesAreAskedAboutAndWaitedForBesideACapture) {
  const CUdeviceptr device = device_memory(kMiB);
  auto* const pinned = pinned_memory(kMiB);
  const CUstream own = stream();
  contract::Gate held = gate();
  held.hold(own);
  CopyFuture future = transfers().copy_async(pinned, to_pointer(device), kMiB, in(own));
  GlobalCapture capture(driver(), stream());
  EXPECT_FALSE(future.ready());
  EXPECT_FALSE(future.over());
  held.open();
  future.wait();
  EXPECT_TRUE(future.ready());
  EXPECT_TRUE(future.over());
  EXPECT_EQ(capture.end(), CUDA_SUCCESS);
}

TEST_F(Asynchronous, CopiesAreBegunBesideACapture) {
  const CUdeviceptr device = device_memory(kMiB);
  const Bytes bytes = pattern(kMiB, 8);
  Bytes target(kMiB);
  const CUstream own = stream();
  GlobalCapture capture(driver(), stream());
  transfers().copy_async(to_pointer(device), bytes.data(), bytes.size(), in(own)).wait();
  transfers().copy_async(target.data(), to_pointer(device), target.size(), in(own)).wait();
  EXPECT_EQ(capture.end(), CUDA_SUCCESS);
  EXPECT_EQ(target, bytes);
}

TEST_F(Asynchronous, BlockingCopiesAreMadeBesideACaptureEachWay) {
  const CUdeviceptr device = device_memory(kMiB);
  const Bytes bytes = pattern(kMiB, 9);
  const CUstream own = stream();
  for (const char* const path : {"driver", "staged", "registered", ""}) {
    SCOPED_TRACE(path);
    CopyOptions options = in(own);
    options.path = path;
    Bytes target(kMiB);
    GlobalCapture capture(driver(), stream());
    transfers().copy(to_pointer(device), bytes.data(), bytes.size(), options);
    transfers().copy(target.data(), to_pointer(device), target.size(), options);
    EXPECT_EQ(capture.end(), CUDA_SUCCESS);
    EXPECT_EQ(target, bytes);
  }
}

TEST_F(Asynchronous, CopiesTakeThePathThatTheyName) {
  const CUdeviceptr device = device_memory(kMiB);
  const Bytes bytes = pattern(kMiB, 10);
  for (const CopyPath path :
       {CopyPath::window, CopyPath::driver, CopyPath::staged, CopyPath::registered}) {
    for (const SourceOrder order : {SourceOrder::call, SourceOrder::stream}) {
      SCOPED_TRACE(name_of(path));
      const std::uint64_t before = num_copies(path);
      Bytes source = bytes;
      CopyFuture up =
          transfers().copy_async(to_pointer(device), source.data(), kMiB, by(name_of(path)), order);
      if (order == SourceOrder::call) std::ranges::fill(source, kGuard);
      up.wait();
      Bytes target(kMiB);
      transfers()
          .copy_async(target.data(), to_pointer(device), kMiB, by(name_of(path)), order)
          .wait();
      EXPECT_EQ(target, bytes);
      EXPECT_EQ(num_copies(path) - before, 2u);
      fill(device, kMiB, 0);
    }
  }
}

TEST_F(Asynchronous, AnUnknownPathIsRefused) {
  const CUdeviceptr device = device_memory(kMiB);
  Bytes target(kMiB);
  EXPECT_THROW(transfers().copy_async(target.data(), to_pointer(device), kMiB, by("sideways")),
               UsageError);
  auto* const pinned = pinned_memory(kMiB);
  EXPECT_THROW(transfers().copy_async(pinned, to_pointer(device), kMiB, by("staged")), Unavailable);
}

TEST_F(Asynchronous, ACopyWhoseEndCannotBeMarkedIsCompleteOnReturn) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const CUdeviceptr device = device_memory(kMiB);
  auto* const pinned = pinned_memory(kMiB);
  fill(device, kMiB, 6);
  const isthmus::test::EmulatorControls emulator(driver());
  emulator.fail_call("cuEventRecord", 1, CUDA_ERROR_UNKNOWN);
  const CopyFuture future = transfers().copy_async(pinned, to_pointer(device), kMiB, in(stream()));
  emulator.reset();
  EXPECT_TRUE(future.ready());
  EXPECT_TRUE(all_are(Bytes(pinned, pinned + kMiB), 0, kMiB, 6));
}

TEST_F(Asynchronous, ACopyWhoseEndTheDriverCannotTellNeverEnds) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const CUdeviceptr device = device_memory(kMiB);
  auto* const pinned = pinned_memory(kMiB);
  const CUstream own = stream();
  contract::Gate held = gate();
  held.hold(own);
  CopyFuture future = transfers().copy_async(pinned, to_pointer(device), kMiB, in(own));
  const isthmus::test::EmulatorControls emulator(driver());
  for (const char* const symbol : {"cuEventQuery", "cuEventSynchronize"})
    emulator.fail_calls(symbol, CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_TRUE(future.ready()) << "waiting would not wait";
  EXPECT_FALSE(future.over());
  const std::string message = message_of<DriverError>([&] { future.wait(); });
  emulator.reset();
  EXPECT_TRUE(says(message, "must be kept until the process ends")) << message;
}

TEST_F(Asynchronous, CopiesGoOnWithoutTheirFutureAndEndBeforeTheirTransfersDo) {
  const CUdeviceptr device = device_memory(kMiB);
  const Bytes bytes = pattern(kMiB, 5);
  transfers().copy_async(to_pointer(device), bytes.data(), bytes.size(), {}, SourceOrder::stream);
  drop_transfers();
  EXPECT_EQ(on_device(device, bytes.size()), bytes);
}

TEST_F(Asynchronous, AFutureOfNoCopySaysSo) {
  CopyFuture none;
  EXPECT_TRUE(says(message_of<UsageError>([&] { none.wait(); }), "no copy"));
}

}  // namespace
}  // namespace isthmus::transfer
