// The list of this process's mappings, read completely or queried for one.
#include "host/memory/memory_map.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "host/memory/pages.hpp"
#include "host/system/text_file.hpp"

namespace isthmus::host {
namespace {

using Wanted = MemoryMap::Wanted;

TEST(MappingText, OfALineIsItsRangeItsPermissionsAndWhetherItHasAFile) {
  std::string_view text =
      "10000000-10004000 rw-p 00000000 00:00 0                          [heap]\n"
      "7f0010004000-7f0010008000 r--s 00001000 08:01 1234               /data/weights bin\n";
  const auto heap = take_mapping(text);
  ASSERT_TRUE(heap);
  EXPECT_EQ(heap->begin, 0x10000000u);
  EXPECT_EQ(heap->end, 0x10004000u);
  EXPECT_TRUE(heap->is_ordinary());
  const auto file = take_mapping(text);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->end, 0x7f0010008000u);
  EXPECT_TRUE(file->readable && !file->writable && file->shared && file->has_file);
  EXPECT_FALSE(file->is_ordinary());
  EXPECT_EQ(file->offset_bytes, 0x1000U);
  EXPECT_EQ(file->file_system, 0x8'0000'0001U);
  EXPECT_EQ(file->inode, 1234U);
  EXPECT_TRUE(text.empty());
}

TEST(MappingText, OfADamagedLineIsSkippedAndTheNextOneIsRead) {
  std::string_view text =
      "\nzz-1 rw-p\n1000-1000 rw-p 0 00:00 0\n1000-2000\n1000-2000 rw-p 0 0:0 0";
  for (int damaged = 0; damaged < 4; ++damaged) EXPECT_FALSE(take_mapping(text)) << damaged;
  EXPECT_TRUE(take_mapping(text));
  EXPECT_TRUE(text.empty());
}

/// Two pages of the same kind, and the kernel's answers about them.
class MemoryMapTest : public testing::Test {
protected:
  void SetUp() override {
    if (!map_.find(reinterpret_cast<std::uintptr_t>(&map_), Wanted::covering).known)
      GTEST_SKIP() << "the kernel has no PROCMAP_QUERY";
  }
  void TearDown() override {
    if (pages_ != nullptr) munmap(pages_, 2 * page_bytes());
  }

  std::uintptr_t map(int protection, int flags, int file = -1) {
    pages_ = mmap(nullptr, 2 * page_bytes(), protection, flags, file, 0);
    EXPECT_NE(pages_, MAP_FAILED);
    return reinterpret_cast<std::uintptr_t>(pages_);
  }
  bool is_ordinary(std::uintptr_t address) const {
    const auto answer = map_.find(address, Wanted::covering);
    return answer.mapping && answer.mapping->is_ordinary();
  }

  MemoryMap map_;
  void* pages_ = nullptr;
};

TEST_F(MemoryMapTest, MemoryIsOrdinaryWhereItMayBeReadAndWritten) {
  const std::uintptr_t begin = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  EXPECT_TRUE(is_ordinary(begin) && is_ordinary(begin + 2 * page_bytes() - 1));
  mprotect(pages_, page_bytes(), PROT_READ);
  EXPECT_FALSE(is_ordinary(begin));
  EXPECT_TRUE(is_ordinary(begin + page_bytes()));
  mprotect(pages_, page_bytes(), PROT_NONE);
  EXPECT_FALSE(is_ordinary(begin));
}

TEST_F(MemoryMapTest, MemoryThatHasADescriptorIsNotOrdinary) {
  const std::string long_name(200, 'n');  // longer than what the kernel is asked for
  for (const std::string& name : {std::string("isthmus-test"), long_name}) {
    const int file = memfd_create(name.c_str(), MFD_CLOEXEC);
    for (const int flags : {MAP_PRIVATE, MAP_SHARED}) {
      const std::uintptr_t begin = map(PROT_READ | PROT_WRITE, flags, file);
      EXPECT_FALSE(is_ordinary(begin)) << flags;
      const auto found = map_.find(begin, Wanted::file_from_here).mapping;
      EXPECT_TRUE(found && found->begin <= begin && found->has_file) << flags;
      TearDown();
    }
    pages_ = nullptr;
    close(file);
  }
}

TEST_F(MemoryMapTest, SharedMemoryWithoutADescriptorIsOrdinary) {
  const std::uintptr_t begin = map(PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_TRUE(is_ordinary(begin));
  const auto found = map_.find(begin, Wanted::file_from_here).mapping;
  EXPECT_TRUE(found && found->has_file && found->shared && found->keeps_size);
  const int segment = shmget(IPC_PRIVATE, 2 * page_bytes(), 0600);
  ASSERT_GE(segment, 0);
  void* const attached = shmat(segment, nullptr, 0);
  shmctl(segment, IPC_RMID, nullptr);
  EXPECT_TRUE(is_ordinary(reinterpret_cast<std::uintptr_t>(attached)));
  shmdt(attached);
}

TEST_F(MemoryMapTest, MappingsSideBySideAreJoinedAndAllowWhatEachOfThemAllows) {
  const std::uintptr_t begin = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  const std::uintptr_t end = begin + 2 * page_bytes();
  ASSERT_EQ(madvise(pages_, page_bytes(), MADV_DONTFORK), 0);
  auto joined = map_.find_joined(begin, end).mapping;
  ASSERT_TRUE(joined);
  EXPECT_TRUE(joined->is_ordinary() && joined->begin <= begin && joined->end >= end);
  void* const second = reinterpret_cast<void*>(begin + page_bytes());
  ASSERT_EQ(mprotect(second, page_bytes(), PROT_READ), 0);
  joined = map_.find_joined(begin, end).mapping;
  EXPECT_TRUE(joined && joined->readable && !joined->writable);
}

TEST_F(MemoryMapTest, OfMappingsSideBySideOneFileIsEnough) {
  const std::uintptr_t begin = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  void* const second = reinterpret_cast<void*>(begin + page_bytes());
  ASSERT_EQ(mmap(second, page_bytes(), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            second);
  const auto joined = map_.find_joined(begin, begin + 2 * page_bytes()).mapping;
  EXPECT_TRUE(joined && joined->has_file && joined->shared);
}

TEST_F(MemoryMapTest, NothingIsJoinedAcrossAGap) {
  const std::uintptr_t begin = map(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  ASSERT_EQ(munmap(reinterpret_cast<void*>(begin + page_bytes()), page_bytes()), 0);
  const auto across = map_.find_joined(begin, begin + 2 * page_bytes());
  EXPECT_TRUE(across.known && !across.mapping);
  EXPECT_TRUE(map_.find_joined(begin, begin + page_bytes()).mapping);
}

TEST_F(MemoryMapTest, AQueryAndTheListNameTheSameFileAndPlace) {
  const int file = memfd_create("isthmus-test", MFD_CLOEXEC);
  const auto offset = static_cast<off_t>(page_bytes());
  pages_ = mmap(nullptr, 2 * page_bytes(), PROT_READ, MAP_SHARED, file, offset);
  const auto begin = reinterpret_cast<std::uintptr_t>(pages_);
  const auto asked = map_.find(begin, Wanted::covering).mapping;
  const std::string list = read_text("/proc/self/maps").value_or("");
  std::string_view rest = list;
  std::optional<Mapping> listed;
  while (!rest.empty() && !(listed && listed->begin == begin)) listed = take_mapping(rest);
  ASSERT_TRUE(asked && listed);
  EXPECT_EQ(asked->offset_bytes, page_bytes());
  EXPECT_EQ(asked->offset_bytes, listed->offset_bytes);
  EXPECT_EQ(asked->file_system, listed->file_system);
  EXPECT_EQ(asked->inode, listed->inode);
  close(file);
}

TEST_F(MemoryMapTest, AnUnmappedAddressHasNoMapping) {
  const auto answer = map_.find(page_bytes(), Wanted::covering);  // never mapped: vm.mmap_min_addr
  EXPECT_TRUE(answer.known);
  EXPECT_FALSE(answer.mapping);
}

}  // namespace
}  // namespace isthmus::host
