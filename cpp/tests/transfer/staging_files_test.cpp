// Mapped files as sources and targets: read ahead, and an error if the file shrinks.
#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <isthmus/errors.hpp>

#include "transfer/call_crossing.hpp"
#include "transfer/mapped_file.hpp"
#include "transfer/pinned/memory_backing.hpp"
#include "transfer/request/mapped_file_copy.hpp"
#include "transfer/staging/host_ends.hpp"
#include "transfer/staging/slot_filler.hpp"
#include "transfer/staging_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kBytes = 512 * kKiB;
constexpr int kNumThreads = 3;

class StagingFilesTest : public StagingUnderTest {
protected:
  void SetUp() override {
    StagingUnderTest::SetUp();
    device_ = device_memory(kBytes);
    order_ = stream();
  }

  CUdeviceptr device_ = 0;
  CUstream order_ = nullptr;
};

TEST_F(StagingFilesTest, AMappedFileIsUploadedWhole) {
  const Bytes sent = pattern(kBytes, 1);
  const MappedFile file(sent, PROT_READ);
  StagingRing ring(retained(), small_settings(kNumThreads));
  ring.upload(device_, file.data(), kBytes, order_);
  EXPECT_EQ(on_device(device_, kBytes), sent);
  ring.upload(device_, file.data() + 4097, 1000, order_);
  EXPECT_EQ(std::memcmp(on_device(device_, 1000).data(), sent.data() + 4097, 1000), 0);
}

TEST_F(StagingFilesTest, ATruncatedSourceIsAUsageErrorAndTheRingGoesOn) {
  const MappedFile file(pattern(kBytes, 1));
  file.truncate(kBytes / 2);
  StagingRing ring(retained(), small_settings(kNumThreads));
  const std::string message =
      message_of<UsageError>([&] { ring.upload(device_, file.data(), kBytes, order_); });
  EXPECT_TRUE(says(message, "the mapped file has become shorter")) << message;
  EXPECT_TRUE(says(message, "of the target are undefined")) << message;
  const Bytes sent = pattern(kBytes, 2);
  ring.upload(device_, bytes_of(sent), kBytes, order_);
  EXPECT_EQ(on_device(device_, kBytes), sent);
}

/// The items of an array with gaps may come from a file, too.
TEST_F(StagingFilesTest, ATruncatedSourceOrTargetOfACrossingIsAUsageError) {
  const MappedFile file(pattern(kBytes, 1));
  file.truncate(kBytes / 2);
  const CallCrossing crossing(driver(), device_);
  StagingRing ring(retained(), small_settings(kNumThreads));
  const std::string source =
      message_of<UsageError>([&] { ring.upload(crossing, file.data(), kBytes, order_); });
  EXPECT_TRUE(says(source, "the mapped file has become shorter")) << source;
  const std::string target =
      message_of<UsageError>([&] { ring.download(file.data(), crossing, kBytes, order_); });
  EXPECT_TRUE(says(target, "the target can't be written at byte")) << target;
}

/// Makes a source fill each slot as a whole.
class InSlots final : public SlotFiller {
public:
  explicit InSlots(const PartSource& source) : source_(source) {}
  std::size_t fill(std::byte* slot, std::size_t offset_bytes,
                   std::size_t size_bytes) const override {
    source_.fill(slot, offset_bytes, size_bytes);
    return 0;
  }

private:
  const PartSource& source_;
};

/// For kernels that can't distinguish files from memory: the end of each part is checked.
TEST_F(StagingFilesTest, ATruncatedSourceWhoseKindIsUnknownIsAUsageErrorToo) {
  const MappedFile file(pattern(kBytes, 1));
  file.truncate(kBytes / 2);
  const MemorySource source(file.data(), Backing::unknown, SlotFilling{});
  StagingRing ring(retained(), small_settings(kNumThreads));
  const std::string message =
      message_of<UsageError>([&] { ring.upload(device_, InSlots(source), kBytes, order_); });
  EXPECT_TRUE(says(message, "the mapped file has become shorter")) << message;
}

TEST_F(StagingFilesTest, AMappedFileIsFilledByADownload) {
  const Bytes sent = pattern(kBytes, 3);
  send_to_device(device_, sent);
  const MappedFile file(Bytes(kBytes, kGuard));
  StagingRing ring(retained(), small_settings(kNumThreads));
  ring.download(file.data() + 100, device_, kBytes - 200, order_);
  EXPECT_EQ(std::memcmp(file.data() + 100, sent.data(), kBytes - 200), 0);
  EXPECT_EQ(file.data()[99], std::byte{kGuard});
  EXPECT_EQ(file.data()[kBytes - 100], std::byte{kGuard});
}

TEST_F(StagingFilesTest, ATargetThatIsTruncatedOrReadOnlyIsAUsageError) {
  StagingRing ring(retained(), small_settings(kNumThreads));
  const MappedFile truncated(Bytes(kBytes, kGuard));
  truncated.truncate(kBytes / 2);
  const MappedFile read_only(Bytes(kBytes, kGuard), PROT_READ);
  for (const MappedFile* file : {&truncated, &read_only}) {
    const std::string message =
        message_of<UsageError>([&] { ring.download(file->data(), device_, kBytes, order_); });
    EXPECT_TRUE(says(message, "the target can't be written at byte")) << message;
  }
}

TEST_F(StagingFilesTest, FilesAreToldFromMemory) {
  const MappedFile file(Bytes(kBytes, 1));
  const MemoryBacking backing;
  const Backing found = backing.of(file.data(), kBytes);
  if (found == Backing::unknown) GTEST_SKIP() << "not by this kernel";
  EXPECT_EQ(found, Backing::file);
  const Bytes memory(kBytes, 1);
  EXPECT_EQ(backing.of(bytes_of(memory), kBytes), Backing::anonymous);
}

TEST_F(StagingFilesTest, TheKernelsCopyStopsWhereTheFileEnds) {
  const Bytes sent = pattern(kBytes, 4);
  const MappedFile file(sent);
  Bytes found(kBytes);
  EXPECT_EQ(copy_from_mapped_file(bytes_of(found), file.data(), kBytes), kBytes);
  EXPECT_EQ(found, sent);
  file.truncate(kBytes / 2);
  EXPECT_LE(copy_from_mapped_file(bytes_of(found), file.data(), kBytes), kBytes / 2);
  EXPECT_LE(copy_to_mapped_file(file.data(), bytes_of(found), kBytes), kBytes / 2);
}

}  // namespace
}  // namespace isthmus::transfer
