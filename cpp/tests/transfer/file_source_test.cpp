// Bytes of a file, from the page cache or directly from the disk; files that shrink while they are
// read.
#include "transfer/staging/file_source.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transfer/random_file.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kFileBytes = 300'001;  // ends in the middle of a block

struct Slot {
  explicit Slot(std::size_t size_bytes)
      : memory(static_cast<std::byte*>(
            std::aligned_alloc(4096, (size_bytes + kSlotSlackBytes + 4095) / 4096 * 4096))) {}
  ~Slot() { std::free(memory); }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  std::byte* memory;
};

class FileSourceTest : public testing::Test {
protected:
  /// Drops the file from the page cache, as far as the file system allows.
  void drop_from_cache() const {
    EXPECT_EQ(posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  int num_pages_in_cache() const {
    constexpr std::size_t kPageBytes = 4096;
    std::vector<unsigned char> resident((kFileBytes + kPageBytes - 1) / kPageBytes);
    void* const mapped = mmap(nullptr, kFileBytes, PROT_READ, MAP_SHARED, descriptor_, 0);
    EXPECT_EQ(mincore(mapped, kFileBytes, resident.data()), 0);
    munmap(mapped, kFileBytes);
    return static_cast<int>(std::count_if(resident.begin(), resident.end(),
                                          [](unsigned char page) { return (page & 1U) != 0; }));
  }
  void expect_filled(const FileSource& source, std::size_t file_offset, std::size_t offset,
                     std::size_t size_bytes) const {
    Slot slot(size_bytes);
    const std::size_t start = source.fill(slot.memory, offset, size_bytes);
    ASSERT_LT(start, kSlotSlackBytes);
    EXPECT_EQ(std::memcmp(slot.memory + start, bytes_.data() + file_offset + offset, size_bytes), 0)
        << size_bytes << " bytes at " << file_offset << " + " << offset;
  }

  isthmus::test::RandomFile file_{kFileBytes};
  const std::vector<std::byte>& bytes_ = file_.bytes();
  const int descriptor_ = file_.descriptor();
};

TEST_F(FileSourceTest, GivesEveryRangeOfAFileThatIsInThePageCache) {
  for (const std::size_t file_offset : {0, 1, 4095, 4096, 4097, 12'345}) {
    const FileSource source(descriptor_, file_offset, kFileBytes - file_offset);
    for (const std::size_t size_bytes : {1, 2, 4096, 100'000}) {
      expect_filled(source, file_offset, 0, size_bytes);
      expect_filled(source, file_offset, 77, size_bytes);
      expect_filled(source, file_offset, kFileBytes - file_offset - size_bytes, size_bytes);
    }
  }
}

TEST_F(FileSourceTest, GivesEveryRangeOfAFileThatIsNotInThePageCache) {
  for (const std::size_t file_offset : {0, 1, 4095, 4096, 4097, 12'345}) {
    for (const std::size_t size_bytes : {1, 2, 4096, 100'000}) {
      drop_from_cache();
      const FileSource source(descriptor_, file_offset, kFileBytes - file_offset);
      expect_filled(source, file_offset, 0, size_bytes);
      drop_from_cache();
      expect_filled(source, file_offset, kFileBytes - file_offset - size_bytes, size_bytes);
    }
  }
}

TEST_F(FileSourceTest, LeavesThePageCacheAsItFoundIt) {
  const FileSource source(descriptor_, 0, kFileBytes);
  if (!source.reads_directly()) GTEST_SKIP() << "this file system reads through the cache only";
  drop_from_cache();
  if (num_pages_in_cache() != 0) GTEST_SKIP() << "this file system keeps its pages";
  expect_filled(source, 0, 10'000, 200'000);
  EXPECT_EQ(num_pages_in_cache(), 0);
}

TEST_F(FileSourceTest, OutlivesTheDescriptorItWasMadeWith) {
  const int other = dup(descriptor_);
  const FileSource source(other, 0, kFileBytes);
  close(other);
  expect_filled(source, 0, 0, kFileBytes);
}

TEST_F(FileSourceTest, RefusesARangeThatIsNotInTheFile) {
  EXPECT_THROW(FileSource(descriptor_, 0, kFileBytes + 1), UsageError);
  EXPECT_THROW(FileSource(descriptor_, kFileBytes + 1, 0), UsageError);
  EXPECT_THROW(FileSource(descriptor_, ~std::uint64_t{0}, 2), UsageError);
  EXPECT_NO_THROW(FileSource(descriptor_, kFileBytes, 0));
}

TEST_F(FileSourceTest, SaysWhereAFileEndsThatBecameShorter) {
  const FileSource source(descriptor_, 0, kFileBytes);
  ASSERT_EQ(ftruncate(descriptor_, 100'000), 0);
  Slot slot(200'000);
  try {
    source.fill(slot.memory, 50'000, 200'000);
    FAIL() << "bytes that aren't there were given";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("ends at byte 100000"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(source.fill(slot.memory, 200'000, 50'000), UsageError);
  expect_filled(source, 0, 0, 100'000);
}

TEST_F(FileSourceTest, SaysWhereAFileEndsThatBecameShorterOutsideThePageCache) {
  const FileSource source(descriptor_, 0, kFileBytes);
  ASSERT_EQ(ftruncate(descriptor_, 100'000), 0);
  fsync(descriptor_);
  drop_from_cache();
  Slot slot(200'000);
  EXPECT_THROW(source.fill(slot.memory, 50'000, 200'000), UsageError);
}

TEST_F(FileSourceTest, RefusesWhatIsNoRegularFile) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_THROW(FileSource(ends[0], 0, 0), UsageError);
  close(ends[0]);
  close(ends[1]);
  EXPECT_THROW(FileSource(-1, 0, 0), UsageError);
}

TEST_F(FileSourceTest, SaysThatAFileCannotBeRead) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor_);
  const int writer = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(writer, 0);
  const FileSource source(writer, 0, 100);
  close(writer);
  Slot slot(100);
  EXPECT_THROW(source.fill(slot.memory, 0, 100), UsageError);
}

TEST_F(FileSourceTest, ReturnsAllItsDescriptors) {
  const int before = dup(descriptor_);
  close(before);
  {
    const FileSource source(descriptor_, 5, 1000);
  }
  const int after = dup(descriptor_);
  close(after);
  EXPECT_EQ(after, before);
}

}  // namespace
}  // namespace isthmus::transfer
