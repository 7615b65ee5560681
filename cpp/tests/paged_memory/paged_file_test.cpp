// A part of a file that a paged array is made of.
#include "paged/paged_file.hpp"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <isthmus/errors.hpp>

namespace isthmus {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytes = (std::size_t{9} << 20U) + 12'345;  // pieces, and a remainder
constexpr std::byte kUntouched{0x5a};

bool never() { return false; }

class PagedFileTest : public testing::Test {
protected:
  void SetUp() override {
    path_ = testing::TempDir() + "isthmus_paged_file_XXXXXX";
    descriptor_ = mkstemp(path_.data());
    ASSERT_GE(descriptor_, 0);
    bytes_.resize(kFileBytes);
    for (std::size_t i = 0; i < kFileBytes; ++i) bytes_[i] = std::byte(i * 7 + i / 4096);
    ASSERT_EQ(pwrite(descriptor_, bytes_.data(), kFileBytes, 0), ssize_t(kFileBytes));
    map(MAP_SHARED);
  }
  void TearDown() override {
    munmap(mapped_, kFileBytes);
    close(descriptor_);
    fs::remove(path_);
  }

  void map(int kind) {
    if (mapped_ != nullptr) munmap(mapped_, kFileBytes);
    mapped_ = mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, kind, descriptor_, 0);
    ASSERT_NE(mapped_, MAP_FAILED);
  }
  /// What the mapping has; it is never read here, but for its address.
  const std::byte* at(std::size_t offset_bytes) const {
    return static_cast<const std::byte*>(mapped_) + offset_bytes;
  }
  PagedFile part(std::size_t offset_bytes, std::size_t size_bytes, bool read_only = false) const {
    return PagedFile(path_, at(offset_bytes), size_bytes, read_only);
  }
  void leave_the_page_cache() const {
    ASSERT_EQ(fsync(descriptor_), 0);
    ASSERT_EQ(posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  std::vector<std::byte> in_file() const {
    std::vector<std::byte> found(fs::file_size(path_));
    EXPECT_EQ(pread(descriptor_, found.data(), found.size(), 0), ssize_t(found.size()));
    return found;
  }

  std::string path_;
  int descriptor_ = -1;
  void* mapped_ = nullptr;
  std::vector<std::byte> bytes_;
};

/// Memory that lies in a block as the part does, and knows if more than allowed is written.
class PartMemory {
public:
  explicit PartMemory(const PagedFile& file)
      : bytes_(file.size_bytes() + 4 * PagedFile::kBlockBytes, kUntouched) {
    constexpr std::size_t kBlock = PagedFile::kBlockBytes;
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data()) + kBlock;
    begin_ = kBlock + (file.offset_bytes() - address) % kBlock;
    end_ = begin_ + file.size_bytes();
  }
  std::byte* data() { return bytes_.data() + begin_; }
  bool is_untouched_outside() const {
    return std::count(bytes_.begin(), bytes_.begin() + begin_, kUntouched) == begin_ &&
           std::count(bytes_.begin() + end_ + PagedFile::kBlockBytes, bytes_.end(), kUntouched) ==
               bytes_.end() - bytes_.begin() - end_ - std::ptrdiff_t(PagedFile::kBlockBytes);
  }

private:
  std::vector<std::byte> bytes_;
  std::ptrdiff_t begin_ = 0, end_ = 0;
};

TEST_F(PagedFileTest, IsReadFromThePageCacheAndFromTheDisk) {
  for (const bool cached : {true, false}) {
    for (const std::size_t offset : {0U, 1U, 4095U, 4096U, 5000U}) {
      for (const std::size_t size : {std::size_t{1}, std::size_t{4097}, kFileBytes - offset}) {
        if (!cached) leave_the_page_cache();
        const PagedFile file = part(offset, size);
        EXPECT_EQ(file.offset_bytes(), offset);
        PartMemory memory(file);
        file.load(memory.data(), never);
        EXPECT_EQ(std::memcmp(memory.data(), bytes_.data() + offset, size), 0) << offset;
        EXPECT_TRUE(memory.is_untouched_outside()) << offset << ", " << size;
        EXPECT_EQ(file.num_read_bytes(), size);
      }
    }
  }
}

TEST_F(PagedFileTest, RangesAreReadAndWrittenAlone) {
  const PagedFile file = part(100, 9000);
  std::vector<std::byte> memory(9000, kUntouched);
  file.read(memory.data(), {10, 20});
  EXPECT_EQ(std::memcmp(memory.data() + 10, bytes_.data() + 110, 10), 0);
  EXPECT_EQ(std::count(memory.begin(), memory.end(), kUntouched), 8990);
  file.write(memory.data(), {5000, 5003});
  std::fill_n(bytes_.begin() + 5100, 3, kUntouched);
  EXPECT_EQ(in_file(), bytes_);
  EXPECT_EQ(file.num_written_bytes(), 3U);
}

TEST_F(PagedFileTest, ThatBecomesShorterIsAnErrorAndNoSignal) {
  const PagedFile file = part(100, kFileBytes - 100);
  PartMemory memory(file);
  fs::resize_file(path_, 5000);
  EXPECT_THROW(file.require_whole(), UsageError);
  EXPECT_THROW(file.load(memory.data(), never), UsageError);
  EXPECT_THROW(file.read(memory.data(), {4000, 6000}), UsageError);
  EXPECT_THROW(part(100, kFileBytes - 100), UsageError);
  fs::resize_file(path_, 0);
  EXPECT_THROW(part(0, 1), UsageError);
}

TEST_F(PagedFileTest, ReadingEndsWhenTheCallerIsInterrupted) {
  const PagedFile file = part(0, kFileBytes);
  PartMemory memory(file);
  EXPECT_THROW(file.load(memory.data(), [] { return true; }), Interrupted);
  file.load(memory.data(), never);
  EXPECT_EQ(std::memcmp(memory.data(), bytes_.data(), kFileBytes), 0);
}

TEST_F(PagedFileTest, MemoryThatLiesOtherwiseInABlockIsRefused) {
  const PagedFile file = part(0, 5000);
  PartMemory memory(file);
  EXPECT_THROW(file.load(memory.data() + 1, never), UsageError);
  EXPECT_TRUE(memory.is_untouched_outside());
}

TEST_F(PagedFileTest, WhatTheSystemDoesNotWriteIsAnErrorOfTheSystem) {
  const PagedFile file = part(0, 9000);
  const std::vector<std::byte> memory(9000, kUntouched);
  const auto former = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  try {
    file.write(memory.data(), {4090, 5000});
    ADD_FAILURE() << "it was written";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), EFBIG);
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, former);
  EXPECT_EQ(file.num_written_bytes(), 6U);
}

TEST_F(PagedFileTest, AnotherFileOfTheNameAPrivateMappingAndOtherMemoryAreRefused) {
  const std::vector<std::byte> own(5000);
  EXPECT_THROW(PagedFile(path_, own.data(), own.size(), true), UsageError);
  EXPECT_THROW(part(0, 0), UsageError);
  EXPECT_THROW(PagedFile(path_ + "_none", at(0), 10, true), UsageError);
  fs::rename(path_, path_ + "_moved");
  std::ofstream(path_) << std::string(kFileBytes, 'x');
  EXPECT_THROW(part(0, 10), UsageError);
  fs::rename(path_ + "_moved", path_);
  map(MAP_PRIVATE);
  EXPECT_THROW(part(0, 10), UsageError);
}

TEST_F(PagedFileTest, AReadOnlyPartNeedsNoRightToWrite) {
  ASSERT_EQ(fchmod(descriptor_, 0400), 0);
  const PagedFile file = part(0, 10, true);
  std::vector<std::byte> memory(10);
  file.read(memory.data(), {0, 10});
  EXPECT_EQ(std::memcmp(memory.data(), bytes_.data(), 10), 0);
  EXPECT_THROW(file.write(memory.data(), {0, 1}), std::system_error);
}

}  // namespace
}  // namespace isthmus
