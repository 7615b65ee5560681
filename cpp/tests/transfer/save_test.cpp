// Saves the bytes of host and device memory to files.
#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include <cstring>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/buffers.hpp"
#include "faults/emulator_controls.hpp"
#include "transfer/pinned/pinned_region.hpp"
#include "transfer/saving/save.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;
constexpr std::size_t kBytes = 5 * kPieceBytes + 1'234;

std::vector<std::byte> random_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  std::mt19937 engine(7);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(engine());
  return bytes;
}

/// A new file, which is deleted with this object.
class NewFile {
public:
  NewFile() {
    std::string name = testing::TempDir() + "isthmus_saved_XXXXXX";
    descriptor_ = mkstemp(name.data());
    EXPECT_GE(descriptor_, 0);
    unlink(name.c_str());
  }
  ~NewFile() { close(descriptor_); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::vector<std::byte> contents() const {
    std::vector<std::byte> found(static_cast<std::size_t>(lseek(descriptor_, 0, SEEK_END)));
    EXPECT_EQ(pread(descriptor_, found.data(), found.size(), 0),
              static_cast<ssize_t>(found.size()));
    return found;
  }

private:
  int descriptor_ = -1;
};

class SaveTest : public testing::Test {
protected:
  SaveTest()
      : driver_(Driver::open()),
        context_(Context::retain(driver_, 0)),
        device_(context_, kBytes),
        staging_(context_, 6 * kPieceBytes) {
    const CurrentContext current(context_);
    driver_.call(symbol::memcpy_htod)(device_.pointer(), static_cast<const void*>(bytes_.data()),
                                      kBytes);
    driver_.call(symbol::ctx_synchronize)();  // the call may return before the bytes arrive
  }

  const std::byte* on_device(std::size_t offset_bytes = 0) const {
    return reinterpret_cast<const std::byte*>(device_.pointer() + offset_bytes);
  }
  bool save_to(const NewFile& file, std::vector<SavedRange> ranges,
               Writing writing = Writing::directly, int num_threads = 3) const {
    const std::size_t staging_bytes = 2 * kPieceBytes * static_cast<std::size_t>(num_threads);
    return save(driver_, file.descriptor(), SavedBytes(std::move(ranges)),
                {staging_.data(), staging_bytes}, {kPieceBytes, writing}, interrupted_);
  }

  Driver driver_;
  Context context_;
  const std::vector<std::byte> bytes_ = random_bytes(kBytes);
  DeviceBuffer device_;
  PinnedRegion staging_;
  std::function<bool()> interrupted_ = [] { return false; };
};

TEST_F(SaveTest, PutsRangesOneAfterTheOtherIntoAFile) {
  for (const Writing writing : {Writing::directly, Writing::through_cache}) {
    for (const int num_threads : {1, 3}) {
      const NewFile file;
      save_to(file,
              {{bytes_.data(), 1'001, kOnHost, "a"},
               {on_device(1'001), 100'000, 0, "b"},
               {nullptr, 0, kOnHost, "nothing"},
               {bytes_.data() + 101'001, kBytes - 101'001, kOnHost, "c"}},
              writing, num_threads);
      EXPECT_EQ(file.contents(), bytes_);
    }
  }
}

TEST_F(SaveTest, SavesOneLongRangeOfADeviceAndOneOfTheHost) {
  for (const SavedRange& range : {SavedRange{on_device(), kBytes, 0, "device"},
                                  SavedRange{bytes_.data(), kBytes, kOnHost, "host"}}) {
    const NewFile file;
    save_to(file, {range});
    EXPECT_EQ(file.contents(), bytes_);
  }
}

TEST_F(SaveTest, SavesNothing) {
  const NewFile file;
  save_to(file, {});
  EXPECT_TRUE(file.contents().empty());
}

TEST_F(SaveTest, NamesMemoryThatCantBeRead) {
  const NewFile file;
  void* const mapped = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto* const forbidden = static_cast<const std::byte*>(mapped);
  for (const std::size_t size_bytes : {std::size_t{10}, kBytes}) {
    try {
      save_to(file,
              {{bytes_.data(), 5, kOnHost, "fine"}, {forbidden, size_bytes, kOnHost, "gone"}});
      ADD_FAILURE() << "it was read";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("gone: its memory can't be read"), std::string::npos)
          << error.what();
    }
  }
  munmap(mapped, kBytes);
}

TEST_F(SaveTest, NamesTheRangeOfADeviceThatFails) {
  if (!driver_.emulated()) GTEST_SKIP() << "only the emulated driver fails when asked to";
  const isthmus::test::EmulatorControls emulator(driver_);
  const NewFile file;
  emulator.fail_call("cuMemcpyDtoHAsync", 1, CUDA_ERROR_ILLEGAL_ADDRESS);
  try {
    save_to(file, {{on_device(), kBytes, 0, "head"}});
    ADD_FAILURE() << "it was read";
  } catch (const DriverError& error) {
    EXPECT_EQ(error.code(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_NE(std::string(error.what()).find("head can't be read"), std::string::npos);
    EXPECT_FALSE(error.memory_in_use());
  }
}

TEST_F(SaveTest, SaysThatTheStagingMemoryMayBeInUseIfNobodyCanWait) {
  if (!driver_.emulated()) GTEST_SKIP() << "only the emulated driver fails when asked to";
  const isthmus::test::EmulatorControls emulator(driver_);
  const NewFile file;
  emulator.fail_calls("cuStreamSynchronize", CUDA_ERROR_UNKNOWN);
  try {
    save_to(file, {{on_device(), kBytes, 0, "head"}});
    ADD_FAILURE() << "it was saved";
  } catch (const DriverError& error) {
    EXPECT_TRUE(error.memory_in_use());
  }
  emulator.reset();
}

TEST_F(SaveTest, PassesTheDisksErrorOn) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  for (const Writing writing : {Writing::directly, Writing::through_cache}) {
    try {
      save(driver_, full, SavedBytes({{on_device(), kBytes, 0, "head"}}),
           {staging_.data(), 4 * kPieceBytes}, {kPieceBytes, writing}, interrupted_);
      ADD_FAILURE() << "it was written";
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code().value(), ENOSPC);
    }
  }
  close(full);
}

TEST_F(SaveTest, StopsWhenItIsInterrupted) {
  const NewFile file;
  interrupted_ = [] { return true; };
  try {
    save_to(file, {{on_device(), kBytes, 0, "head"}});
  } catch (const Interrupted&) {
    return;  // if it wasn't done before it was asked
  }
  EXPECT_EQ(file.contents(), bytes_);
}

TEST_F(SaveTest, RefusesStagingMemoryThatIsTooSmall) {
  const NewFile file;
  const SavedBytes bytes({{on_device(), kBytes, 0, "head"}});
  const auto save_with = [&](std::span<std::byte> staging, std::size_t piece_bytes) {
    save(driver_, file.descriptor(), bytes, staging, {piece_bytes, Writing::directly},
         interrupted_);
  };
  EXPECT_THROW(save_with({staging_.data(), kPieceBytes}, kPieceBytes), UsageError);
  EXPECT_THROW(save_with({staging_.data(), 4 * kPieceBytes}, 0), UsageError);
  EXPECT_THROW(save_with({staging_.data(), 4 * kPieceBytes}, 5'000), UsageError);
  EXPECT_THROW(save_with({staging_.data() + 8, 2 * kPieceBytes}, kPieceBytes), UsageError);
  save_with({staging_.data() + 8, 3 * kPieceBytes}, kPieceBytes);
  EXPECT_EQ(file.contents(), bytes_);
}

}  // namespace
}  // namespace isthmus::transfer
