// Checks which memory is accessible, without a signal.
#include "host/memory/pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include <gtest/gtest.h>

namespace isthmus::host {
namespace {

constexpr std::size_t kNumPages = 64;

/// Memory of 64 pages, as the kernel gives it.
class PageAccess : public testing::Test {
protected:
  void TearDown() override {
    if (memory_ != nullptr) munmap(memory_, num_bytes());
  }

  static std::size_t num_bytes() { return kNumPages * page_bytes(); }
  std::byte* map(int flags, int file = -1) {
    memory_ =
        static_cast<std::byte*>(mmap(nullptr, num_bytes(), PROT_READ | PROT_WRITE, flags, file, 0));
    EXPECT_NE(static_cast<void*>(memory_), MAP_FAILED);
    return memory_;
  }
  void protect(std::size_t page, int protection) const {
    EXPECT_EQ(mprotect(memory_ + page * page_bytes(), page_bytes(), protection), 0);
  }

  std::byte* memory_ = nullptr;
};

TEST_F(PageAccess, IsToReadAndToWriteWhereBothAreAllowed) {
  const std::byte* const memory = map(MAP_PRIVATE | MAP_ANONYMOUS);
  for (const std::size_t size : {std::size_t{1}, page_bytes(), num_bytes()}) {
    EXPECT_TRUE(can_touch(memory, size, Access::read)) << size;
    EXPECT_TRUE(can_touch(memory, size, Access::write)) << size;
  }
}

TEST_F(PageAccess, IsOnlyToReadWhereWritingIsForbidden) {
  const std::byte* const memory = map(MAP_PRIVATE | MAP_ANONYMOUS);
  protect(1, PROT_READ);
  EXPECT_TRUE(can_touch(memory + page_bytes(), 1, Access::read));
  EXPECT_FALSE(can_touch(memory + page_bytes(), 1, Access::write));
  EXPECT_FALSE(can_touch(memory, page_bytes() + 1, Access::write));
}

TEST_F(PageAccess, IsDeniedForAGapInAShortRangeAndAtTheEndsOfALongOne) {
  const std::byte* const memory = map(MAP_PRIVATE | MAP_ANONYMOUS);
  protect(2, PROT_NONE);
  protect(kNumPages - 1, PROT_NONE);
  EXPECT_FALSE(can_touch(memory, 4 * page_bytes(), Access::read));
  EXPECT_FALSE(can_touch(memory, num_bytes(), Access::read));
  EXPECT_TRUE(can_touch(memory, num_bytes() - page_bytes(), Access::read));
}

TEST_F(PageAccess, IsDeniedPastTheEndOfAFile) {
  const int file = memfd_create("isthmus-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(num_bytes())), 0);
  const std::byte* const memory = map(MAP_SHARED, file);
  ASSERT_TRUE(can_touch(memory + page_bytes(), 1, Access::read));
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(page_bytes())), 0);
  EXPECT_TRUE(can_touch(memory, page_bytes(), Access::read));
  EXPECT_FALSE(can_touch(memory, page_bytes() + 1, Access::read));
  EXPECT_FALSE(can_touch(memory + page_bytes(), 1, Access::write));
  close(file);
}

TEST_F(PageAccess, NeedsNoGapInTheMiddleOfALongRange) {
  std::byte* const memory = map(MAP_PRIVATE | MAP_ANONYMOUS);
  protect(1, PROT_READ);
  EXPECT_TRUE(is_mapped(memory, num_bytes()));
  ASSERT_EQ(munmap(memory + kNumPages / 2 * page_bytes(), page_bytes()), 0);
  EXPECT_FALSE(is_mapped(memory, num_bytes()));
  EXPECT_TRUE(is_mapped(memory, kNumPages / 2 * page_bytes()));
  EXPECT_FALSE(is_mapped(memory, kNumPages / 2 * page_bytes() + 1));
  EXPECT_FALSE(is_mapped(memory, SIZE_MAX));
}

TEST_F(PageAccess, LeavesErrnoAlone) {
  map(MAP_PRIVATE | MAP_ANONYMOUS);
  protect(0, PROT_NONE);
  errno = 77;
  EXPECT_FALSE(can_touch(memory_, 1, Access::read));
  EXPECT_FALSE(is_mapped(memory_, SIZE_MAX / 2));
  EXPECT_EQ(errno, 77);
}

TEST_F(PageAccess, ToTheStackAndTheHeapIsKnownWithoutAsking) {
  // Not by a variable: AddressSanitizer may keep these elsewhere.
  EXPECT_TRUE(is_own_memory(__builtin_frame_address(0), 1));
  const void* const grown = sbrk(static_cast<std::intptr_t>(page_bytes()));
  ASSERT_NE(reinterpret_cast<std::intptr_t>(grown), -1);
  EXPECT_TRUE(is_own_memory(grown, page_bytes()));
  const auto left_of_heap = static_cast<std::size_t>(static_cast<const std::byte*>(sbrk(0)) -
                                                     static_cast<const std::byte*>(grown));
  EXPECT_FALSE(is_own_memory(grown, left_of_heap + 1));
}

TEST_F(PageAccess, ToMemoryOutsideTheStackAndTheHeapIsNotKnown) {
  EXPECT_FALSE(is_own_memory(map(MAP_PRIVATE | MAP_ANONYMOUS), 1));
  EXPECT_FALSE(is_own_memory(nullptr, 1));
  const std::byte here{};
  EXPECT_FALSE(is_own_memory(&here, SIZE_MAX));
}

}  // namespace
}  // namespace isthmus::host
