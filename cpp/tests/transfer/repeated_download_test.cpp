// Downloads that a program makes again and again.
#include "transfer/repeated_download.hpp"

#include <memory>

#include <gtest/gtest.h>

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
  last.note(&owner, host, device, 8, {.device = 3, .predicted_seconds = 0.5}, 5);
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
    EXPECT_ANY_THROW(transfers().copy(target.data(), source, kBytes));
  }
}

}  // namespace
}  // namespace isthmus::transfer
