// Copies that a program makes again and again.
#include "transfer/repeated_copy.hpp"

#include <algorithm>
#include <memory>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

TEST(RepeatedCopyTest, OnlyTheSameCopyInTheSameTickIsKnown) {
  RepeatedCopy last;
  char host[8];
  char device[8];
  int owner = 0;
  EXPECT_EQ(last.find(&owner, host, device, 8, 5).device, -1);
  last.note(
      &owner, host, device, 8,
      {.device = 3, .uploads = true, .pinned_id = 7, .profile = nullptr, .predicted_seconds = 0.5},
      5);
  EXPECT_EQ(last.find(&owner, host, device, 8, 5).device, 3);
  EXPECT_EQ(last.find(&owner, host, device, 8, 5).predicted_seconds, 0.5);
  EXPECT_TRUE(last.find(&owner, host, device, 8, 5).uploads);
  EXPECT_EQ(last.find(&owner, host, device, 8, 5).pinned_id, 7U);
  EXPECT_EQ(last.find(&owner, host, device, 8, 6).device, -1);
  EXPECT_EQ(last.find(&owner, host, device, 7, 5).device, -1);
  EXPECT_EQ(last.find(&owner, host, device + 1, 8, 5).device, -1);
  EXPECT_EQ(last.find(&owner, host + 1, device, 8, 5).device, -1);
  EXPECT_EQ(last.find(host, host, device, 8, 5).device, -1);
}

/// By a profile that knows the driver only.
class RepeatedCopies : public TransfersUnderTest {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (!IsSkipped()) prefer_the_ring();
  }
  static constexpr std::size_t kBytes = 20 * kKiB;
};

TEST_F(RepeatedCopies, OfTheDevicesMemoryBringWhatIsThereNowAndAreAllCounted) {
  const CUdeviceptr device = device_memory(kBytes);
  Bytes target(kBytes);
  ASSERT_EQ(transfers().explain(target.data(), to_pointer(device), kBytes).path, CopyPath::driver);
  for (unsigned round = 0; round < 50; ++round) {
    const Bytes bytes = random_bytes(kBytes, round);
    send_to_device(device, bytes);
    transfers().copy(target.data(), to_pointer(device), kBytes);
    ASSERT_EQ(target, bytes) << "round " << round;
  }
  EXPECT_EQ(num_copies(CopyPath::driver), 50u);
}

TEST_F(RepeatedCopies, OfPinnedMemoryBringWhatIsThereNowAndAreAllCounted) {
  const CUdeviceptr device = device_memory(kBytes);
  auto* const source = pinned_memory<std::uint8_t>(kBytes);
  ASSERT_EQ(transfers().explain(to_pointer(device), source, kBytes).path, CopyPath::driver);
  for (unsigned round = 0; round < 50; ++round) {
    const Bytes bytes = random_bytes(kBytes, round);
    std::copy(bytes.begin(), bytes.end(), source);
    transfers().copy(to_pointer(device), source, kBytes);
    ASSERT_EQ(on_device(device, kBytes), bytes) << "round " << round;
  }
  EXPECT_EQ(num_copies(CopyPath::driver), 50u);
}

TEST_F(RepeatedCopies, OfPinnedMemoryAreNotExaminedAgain) {
  if (!driver().emulated()) GTEST_SKIP() << "counts the emulated driver's calls";
  const CUdeviceptr device = device_memory(kBytes);
  auto* const source = pinned_memory<std::uint8_t>(kBytes);
  const isthmus::test::EmulatorControls controls(driver());
  controls.log_calls(1);
  constexpr int kNumCopies = 200;
  for (int i = 0; i < kNumCopies; ++i) transfers().copy(to_pointer(device), source, kBytes);
  auto counts = isthmus::test::counts_of_calls(controls.call_log());
  controls.log_calls(0);
  EXPECT_EQ(counts["cuMemcpyHtoD"], kNumCopies);
  EXPECT_LT(counts["cuPointerGetAttributes"], kNumCopies);
}

TEST_F(RepeatedCopies, OfPinnedMemoryThatWasFreedAreExaminedAgain) {
  const CUdeviceptr device = device_memory(kBytes);
  for (unsigned round = 0; round < 20; ++round) {
    auto buffer = std::make_unique<PinnedBuffer>(retained(), kBytes);
    const void* const source = buffer->data();
    for (int i = 0; i < 3; ++i) transfers().copy(to_pointer(device), source, kBytes);
    buffer.reset();
    EXPECT_THROW(transfers().copy(to_pointer(device), source, kBytes), UsageError);
  }
}

TEST_F(RepeatedCopies, OfABufferThatWasFreedAreRefused) {
  for (int round = 0; round < 20; ++round) {
    Bytes target(kBytes);
    auto buffer = std::make_unique<DeviceBuffer>(retained(), kBytes);
    void* const source = to_pointer(buffer->pointer());
    for (int i = 0; i < 3; ++i) transfers().copy(target.data(), source, kBytes);
    buffer.reset();
    EXPECT_THROW(transfers().copy(target.data(), source, kBytes), UsageError);
  }
}

TEST_F(RepeatedCopies, ToAFileThatHasBecomeShorterAreRefused) {
  const CUdeviceptr device = device_memory(kBytes);
  const int file = memfd_create("isthmus-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  void* const target = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ASSERT_NE(target, MAP_FAILED);
  transfers().copy(target, to_pointer(device), kBytes);
  ASSERT_EQ(ftruncate(file, 0), 0);
  EXPECT_THROW(transfers().copy(target, to_pointer(device), kBytes), UsageError);
  munmap(target, kBytes);
  close(file);
}

}  // namespace
}  // namespace isthmus::transfer
