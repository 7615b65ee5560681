// Pageable arrays that one call copies: they share the staging ring.
#include <cstring>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

/// Of pageable memory: a kernel moves only short ones more quickly.
class LongPageableCopies : public TransfersUnderTest {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (!IsSkipped()) prefer_the_ring();
  }

  static constexpr std::size_t kNum = 40;
  static constexpr std::size_t kCopyBytes = 100 * kKiB;

  std::vector<ManyCopy> up(CUdeviceptr device, const Bytes& sent) const {
    std::vector<ManyCopy> copies;
    for (std::size_t at = 0; at < kNum * kCopyBytes; at += kCopyBytes)
      copies.push_back({to_pointer(device + at), sent.data() + at, kCopyBytes, {}});
    return copies;
  }
  std::vector<ManyCopy> down(Bytes& back, CUdeviceptr device) const {
    std::vector<ManyCopy> copies;
    for (std::size_t at = 0; at < kNum * kCopyBytes; at += kCopyBytes)
      copies.push_back({back.data() + at, to_pointer(device + at), kCopyBytes, {}});
    return copies;
  }
};

TEST_F(LongPageableCopies, ShareTheStagingRing) {
  const CUdeviceptr device = device_memory(kNum * kCopyBytes);
  const Bytes sent = pattern(kNum * kCopyBytes, 11);
  Bytes back(sent.size());
  const std::vector<PathShare> shares = transfers().explain_many(up(device, sent));
  ASSERT_EQ(shares.size(), 1U);
  EXPECT_EQ(shares[0].path, CopyPath::staged);
  EXPECT_EQ(shares[0].num_copies, kNum);
  transfers().copy_many(up(device, sent));
  EXPECT_EQ(num_copies(CopyPath::staged), kNum);
  prefer_the_ring(Direction::device_to_host);
  transfers().copy_many(down(back, device));
  EXPECT_EQ(num_copies(CopyPath::staged), 2 * kNum);
  EXPECT_EQ(back, sent);
}

/// By the defaults, which count on a link of 3 GB/s if the device is emulated.
using ShortPageableCopies = TransfersUnderTest;

TEST_F(ShortPageableCopies, AreLeftToAKernelEvenIfTheLinkHidesWhatTheDriverTakes) {
  if (!driver().emulated()) GTEST_SKIP() << "a real link may be faster";
  constexpr std::size_t kBytes = 5000;
  constexpr std::size_t kNum = 1000;
  const CUdeviceptr device = device_memory(kNum * kBytes);
  Bytes host(kNum * kBytes);
  for (const bool up : {true, false}) {
    std::vector<ManyCopy> copies;
    for (std::size_t at = 0; at < host.size(); at += kBytes)
      copies.push_back(up ? ManyCopy{to_pointer(device + at), host.data() + at, kBytes, {}}
                          : ManyCopy{host.data() + at, to_pointer(device + at), kBytes, {}});
    const std::vector<PathShare> shares = transfers().explain_many(copies);
    ASSERT_EQ(shares.size(), 1U);
    EXPECT_EQ(shares[0].path, CopyPath::kernel) << "up " << up;
  }
}

TEST_F(LongPageableCopies, ComeAfterAPinnedOneThatCrossesMeanwhile) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver tells what was called";
  const isthmus::test::EmulatorControls controls(driver());
  const CUdeviceptr device = device_memory(kNum * kCopyBytes + kMiB);
  const Bytes sent = pattern(kNum * kCopyBytes, 16);
  std::vector<ManyCopy> copies = up(device, sent);
  copies.push_back({pinned_memory(kMiB), to_pointer(device + sent.size()), kMiB, in(stream())});
  controls.log_calls(1);
  transfers().copy_many(copies);
  controls.log_calls(0);
  const std::string log = controls.call_log();
  controls.reset();
  ASSERT_NE(log.find("cuMemcpyBatchAsync"), std::string::npos);
  EXPECT_LT(log.find("cuMemcpyDtoHAsync"), log.find("cuMemcpyBatchAsync"));
}

TEST_F(LongPageableCopies, LetTheirSourcesBeChangedAtOnce) {
  const CUdeviceptr device = device_memory(kNum * kCopyBytes);
  const Bytes sent = pattern(kNum * kCopyBytes, 12);
  Bytes source = sent;
  const CUstream own = stream();
  std::vector<ManyCopy> copies = up(device, source);
  for (ManyCopy& copy : copies) copy.options = in(own);
  CopyFuture future = transfers().copy_many_async(copies);
  std::memset(source.data(), kGuard, source.size());
  future.wait();
  EXPECT_EQ(on_device(device, sent.size()), sent);
}

TEST_F(LongPageableCopies, ComeAfterTheWorkOfTheirStream) {
  const CUdeviceptr device = device_memory(kNum * kCopyBytes);
  Bytes back(kNum * kCopyBytes);
  std::vector<ManyCopy> copies = down(back, device);
  const CUstream own = stream();
  for (ManyCopy& copy : copies) copy.options = in(own);
  // The choice loads the kernel, and the driver waits then for what runs on the device.
  EXPECT_EQ(transfers().explain_many(copies).size(), 1U);
  contract::Gate held = gate();
  held.hold(own);
  driver().call(symbol::memset_d8_async)(device, std::uint8_t{9}, back.size(), own);
  CopyFuture future = transfers().copy_many_async(copies);
  EXPECT_FALSE(future.ready());
  held.open();
  future.wait();
  EXPECT_TRUE(all_are(back, 0, back.size(), 9));
}

TEST_F(LongPageableCopies, AreMadeOneByOneIfTheRingCanPinNoMemory) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const isthmus::test::EmulatorControls emulator(driver());
  const CUdeviceptr device = device_memory(kNum * kCopyBytes);
  const Bytes sent = pattern(kNum * kCopyBytes, 13);
  Bytes back(sent.size());
  for (const bool later : {false, true}) {
    emulator.fail_calls("cuMemHostRegister", CUDA_ERROR_OUT_OF_MEMORY);
    if (later)
      transfers().copy_many_async(up(device, sent)).wait();
    else
      transfers().copy_many(up(device, sent));
    emulator.reset();
    EXPECT_EQ(on_device(device, sent.size()), sent);
    fill(device, sent.size(), 0);
    transfers().trim();
  }
}

TEST_F(LongPageableCopies, WaitForNoWorkOfTheirStreamIfTheRingCanPinNoMemory) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  constexpr std::size_t kStagedByDriver = 60 * kKiB;  // the driver reads so much at once
  const CUdeviceptr device = device_memory(kNum * kCopyBytes);
  const Bytes sent = pattern(kNum * kCopyBytes, 15);
  Bytes source = sent;
  const CUstream own = stream();
  std::vector<ManyCopy> copies = up(device, source);
  for (ManyCopy& copy : copies) {
    copy.size_bytes = kStagedByDriver;
    copy.options = in(own);
  }
  ASSERT_EQ(transfers().explain_many(copies)[0].path, CopyPath::staged);
  const isthmus::test::EmulatorControls emulator(driver());
  emulator.fail_calls("cuMemHostRegister", CUDA_ERROR_OUT_OF_MEMORY);
  contract::Gate held = gate();
  held.hold(own);
  CopyFuture future = transfers().copy_many_async(copies);
  std::memset(source.data(), kGuard, source.size());
  EXPECT_FALSE(future.ready());
  EXPECT_TRUE(future.ordered());
  held.open();
  future.wait();
  emulator.reset();
  const Bytes found = on_device(device, sent.size());
  for (std::size_t at = 0; at < sent.size(); at += kCopyBytes)
    ASSERT_EQ(std::memcmp(found.data() + at, sent.data() + at, kStagedByDriver), 0);
}

TEST_F(LongPageableCopies, WhoseRingFailsSayThatAllTargetsAreUndefined) {
  if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
  const CUdeviceptr device = device_memory(kNum * kCopyBytes);
  const Bytes sent = pattern(kNum * kCopyBytes, 14);
  const isthmus::test::EmulatorControls emulator(driver());
  const auto message_of_failed = [&](auto copy) {
    emulator.fail_call("cuMemcpyBatchAsync", 1, CUDA_ERROR_ECC_UNCORRECTABLE);
    std::string message = message_of<DriverError>(copy);
    emulator.reset();
    return message;
  };
  const std::string message = message_of_failed([&] { transfers().copy_many(up(device, sent)); });
  EXPECT_TRUE(says(message, "all bytes of the call's targets are undefined")) << message;
  for (const SourceOrder order : {SourceOrder::call, SourceOrder::stream}) {
    const std::string later =
        message_of_failed([&] { transfers().copy_many_async(up(device, sent), order).wait(); });
    EXPECT_TRUE(says(later, "all bytes of the targets are undefined")) << later;
  }
  transfers().copy_many(up(device, sent));
  EXPECT_EQ(on_device(device, sent.size()), sent);
}

}  // namespace
}  // namespace isthmus::transfer
