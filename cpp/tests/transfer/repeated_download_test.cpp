// Downloads that a program makes again and again.
#include "transfer/repeated_download.hpp"

#include <memory>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "device/buffers.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

TEST(RepeatedDownloadTest, OnlyTheSameCopyInTheSameTickIsKnown) {
  RepeatedDownload last;
  char host[8];
  char device[8];
  int owner = 0;
  EXPECT_EQ(last.find(&owner, host, device, 8, 5).device, -1);
  last.note(&owner, host, device, 8,
            {.device = 3, .pinned = false, .profile = nullptr, .predicted_seconds = 0.5}, 5);
  EXPECT_EQ(last.find(&owner, host, device, 8, 5).device, 3);
  EXPECT_EQ(last.find(&owner, host, device, 8, 5).predicted_seconds, 0.5);
  EXPECT_EQ(last.find(&owner, host, device, 8, 6).device, -1);
  EXPECT_EQ(last.find(&owner, host, device, 7, 5).device, -1);
  EXPECT_EQ(last.find(&owner, host, device + 1, 8, 5).device, -1);
  EXPECT_EQ(last.find(&owner, host + 1, device, 8, 5).device, -1);
  EXPECT_EQ(last.find(host, host, device, 8, 5).device, -1);
}

/// By a profile that knows the driver only.
class RepeatedDownloads : public TransfersUnderTest {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (!IsSkipped()) prefer_the_ring();
  }
  static constexpr std::size_t kBytes = 20 * kKiB;
};

TEST_F(RepeatedDownloads, BringWhatIsThereNowAndAreAllCounted) {
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

TEST_F(RepeatedDownloads, OfABufferThatWasFreedAreRefused) {
  for (int round = 0; round < 20; ++round) {
    Bytes target(kBytes);
    auto buffer = std::make_unique<DeviceBuffer>(retained(), kBytes);
    void* const source = to_pointer(buffer->pointer());
    for (int i = 0; i < 3; ++i) transfers().copy(target.data(), source, kBytes);
    buffer.reset();
    EXPECT_THROW(transfers().copy(target.data(), source, kBytes), UsageError);
  }
}

TEST_F(RepeatedDownloads, ToAFileThatHasBecomeShorterAreRefused) {
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
