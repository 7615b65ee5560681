// Copies files to a device, through Transfers.
#include <gtest/gtest.h>

#include <isthmus/errors.hpp>
#include <isthmus/transfer.hpp>

#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "device/buffers.hpp"
#include "device/stream.hpp"
#include "faults/emulator_controls.hpp"
#include "transfer/random_file.hpp"

namespace isthmus {
namespace {

constexpr std::size_t kFileBytes = (std::size_t{9} << 20U) + 12'345;  // pieces, and a remainder

class CopyFileTest : public testing::Test {
protected:
  CopyFileTest()
      : driver_(Driver::open()),
        context_(Context::retain(driver_, 0)),
        device_(context_, kFileBytes),
        transfers_(driver_) {
    poison();
  }

  void* target(std::size_t offset_bytes = 0) const {
    return reinterpret_cast<void*>(device_.pointer() + offset_bytes);
  }
  void poison() const {
    const CurrentContext current(context_);
    driver_.call(symbol::memset_d8_async)(device_.pointer(), static_cast<unsigned char>(0x5a),
                                          kFileBytes, nullptr);
    driver_.call(symbol::stream_synchronize)(nullptr);
  }
  std::vector<std::byte> arrived() const {
    std::vector<std::byte> found(kFileBytes);
    const CurrentContext current(context_);
    driver_.call(symbol::memcpy_dtoh)(static_cast<void*>(found.data()), device_.pointer(),
                                      kFileBytes);
    return found;
  }

  Driver driver_;
  Context context_;
  DeviceBuffer device_;
  Transfers transfers_;
  isthmus::test::RandomFile file_{kFileBytes};
  const std::vector<std::byte>& bytes_ = file_.bytes();
  const int descriptor_ = file_.descriptor();
};

TEST_F(CopyFileTest, BringsAFileToTheDeviceFromThePageCacheAndFromTheDisk) {
  transfers_.copy_file(target(), descriptor_, 0, kFileBytes);
  EXPECT_EQ(arrived(), bytes_);
  poison();
  ASSERT_EQ(posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED), 0);
  transfers_.copy_file(target(), descriptor_, 0, kFileBytes);
  EXPECT_EQ(arrived(), bytes_);
}

TEST_F(CopyFileTest, BringsAPartOfAFileAndNothingElse) {
  constexpr std::size_t kFirst = 4'321;
  constexpr std::size_t kCount = std::size_t{5} << 20U;
  transfers_.copy_file(target(7), descriptor_, kFirst, kCount);
  const std::vector<std::byte> found = arrived();
  EXPECT_EQ(std::memcmp(found.data() + 7, bytes_.data() + kFirst, kCount), 0);
  EXPECT_EQ(found[6], std::byte{0x5a});
  EXPECT_EQ(found[7 + kCount], std::byte{0x5a});
}

TEST_F(CopyFileTest, CopiesNothingOfNoBytes) {
  transfers_.copy_file(target(), descriptor_, kFileBytes, 0);
  EXPECT_EQ(arrived()[0], std::byte{0x5a});
}

TEST_F(CopyFileTest, RefusesWhatTheFileDoesNotHave) {
  EXPECT_THROW(transfers_.copy_file(target(), descriptor_, 1, kFileBytes), UsageError);
  EXPECT_THROW(transfers_.copy_file(target(), -1, 0, 1), UsageError);
  EXPECT_EQ(arrived()[0], std::byte{0x5a});
}

TEST_F(CopyFileTest, RefusesTargetsThatAreNoDeviceMemoryOfThatSize) {
  std::vector<std::byte> host(64);
  EXPECT_THROW(transfers_.copy_file(host.data(), descriptor_, 0, 64), UsageError);
  EXPECT_THROW(transfers_.copy_file(nullptr, descriptor_, 0, 64), UsageError);
  EXPECT_THROW(transfers_.copy_file(target(1), descriptor_, 0, kFileBytes), UsageError);
  const PinnedBuffer pinned(context_, 64);
  EXPECT_THROW(transfers_.copy_file(pinned.data(), descriptor_, 0, 64), UsageError);
}

TEST_F(CopyFileTest, WorksAgainAfterAFileThatIsNotAsLongAsItSays) {
  EXPECT_THROW(transfers_.copy_file(target(), descriptor_, 0, 2 * kFileBytes), UsageError);
  transfers_.copy_file(target(), descriptor_, 0, kFileBytes);
  EXPECT_EQ(arrived(), bytes_);
}

TEST_F(CopyFileTest, WorksWithoutMemoryToPin) {
  if (!driver_.emulated()) GTEST_SKIP() << "pinning fails on the emulated driver only";
  const isthmus::test::EmulatorControls controls(driver_);
  controls.fail_call("cuMemHostRegister", 1, CUDA_ERROR_OUT_OF_MEMORY);
  transfers_.copy_file(target(), descriptor_, 0, kFileBytes);
  controls.reset();
  EXPECT_EQ(arrived(), bytes_);
}

TEST_F(CopyFileTest, RefusesAStreamThatIsBeingCaptured) {
  const CurrentContext current(context_);
  const Stream stream(context_);
  CopyOptions options;
  options.stream = reinterpret_cast<std::uintptr_t>(stream.handle());
  driver_.call(symbol::stream_begin_capture)(stream.handle(), CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_THROW(transfers_.copy_file(target(), descriptor_, 0, 64, options), UsageError);
  CUgraph graph = nullptr;
  driver_.call(symbol::stream_end_capture)(stream.handle(), &graph);
  driver_.call(symbol::graph_destroy)(graph);
}

}  // namespace
}  // namespace isthmus
