// How rarely the kernel is asked whether memory is accessible, and what is asked each time.
#include "transfer/request/host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "contract/machine_under_test.hpp"
#include "driver/child_process.hpp"
#include "driver/forks.hpp"

namespace isthmus::transfer {
namespace {

using host::Access;

/// A clock that the tests advance.
host::Tick now = 0;
host::Tick test_clock() noexcept { return now; }

class HostMemoryTest : public contract::MachineUnderTest {
protected:
  static constexpr std::size_t kNumPages = 16;

  void SetUp() override {
    MachineUnderTest::SetUp();
    watch_forks();
    memory_.emplace(driver(), test_clock);
    ++now;
  }
  void TearDown() override {
    for (std::byte* const pages : mapped_) munmap(pages, num_bytes());
    MachineUnderTest::TearDown();
  }

  static std::size_t num_bytes() { return kNumPages * host::page_bytes(); }
  std::byte* map(int flags, int file = -1) {
    void* const pages = mmap(nullptr, num_bytes(), PROT_READ | PROT_WRITE, flags, file, 0);
    EXPECT_NE(pages, MAP_FAILED);
    return mapped_.emplace_back(static_cast<std::byte*>(pages));
  }
  std::byte* ordinary_memory() { return map(MAP_PRIVATE | MAP_ANONYMOUS); }
  bool can_read(const void* begin, std::size_t size_bytes = 1) const {
    return memory_->touch(begin, size_bytes, Access::read) != HostTouch::forbidden;
  }
  bool can_write(const void* begin, std::size_t size_bytes = 1) const {
    return memory_->touch(begin, size_bytes, Access::write) != HostTouch::forbidden;
  }
  HostTouch touch_to_read(const std::byte* pages) const {
    return memory_->touch(pages, num_bytes(), Access::read);
  }
  bool knows(const std::byte* pages) const { return memory_->is_known(pages, num_bytes()); }
  static std::byte* middle_of(std::byte* pages) { return pages + num_bytes() / 2; }
  static void forbid(std::byte* pages) { EXPECT_EQ(mprotect(pages, num_bytes(), PROT_NONE), 0); }
  /// Without PROCMAP_QUERY the kernel is asked each time, which matters only to the tests of trust.
  static bool remembers() {
    return host::MemoryMap()
        .find(reinterpret_cast<std::uintptr_t>(&now), host::MemoryMap::Wanted::covering)
        .known;
  }

private:
  std::optional<HostMemory> memory_;
  std::vector<std::byte*> mapped_;
};

TEST_F(HostMemoryTest, OrdinaryMemoryIsCheckedAgainOnceTheClockHasTicked) {
  if (!remembers()) GTEST_SKIP() << "the kernel has no PROCMAP_QUERY";
  std::byte* const pages = ordinary_memory();
  ASSERT_TRUE(can_read(pages));
  forbid(pages);
  EXPECT_TRUE(can_read(pages + num_bytes() - 1));
  EXPECT_TRUE(can_write(pages, num_bytes()));
  ++now;
  EXPECT_FALSE(can_read(pages));
  EXPECT_FALSE(can_write(pages));
}

TEST_F(HostMemoryTest, AnotherThreadAsksForItself) {
  std::byte* const pages = ordinary_memory();
  ASSERT_TRUE(can_read(pages));
  forbid(pages);
  std::optional<bool> found;
  std::thread([&] { found = can_read(pages); }).join();
  EXPECT_EQ(found, false);
}

TEST_F(HostMemoryTest, AForkedChildAsksForItself) {
  std::byte* const pages = ordinary_memory();
  ASSERT_EQ(madvise(pages, num_bytes(), MADV_DONTFORK), 0);
  ASSERT_TRUE(can_read(pages));
  EXPECT_TRUE(holds_in_child([&] {
    const HostMemory childs(driver(), test_clock);
    return childs.touch_pageable(pages, 1, Access::read) == HostTouch::forbidden;
  }));
}

TEST_F(HostMemoryTest, AFileThatBecomesShorterIsNoticedAtOnce) {
  for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
    const int file = memfd_create("isthmus-test", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, static_cast<off_t>(num_bytes())), 0);
    std::byte* const pages = map(flags, file);
    pages[0] = std::byte{1};  // a private mapping's own copy of the page, which disappears too
    ASSERT_TRUE(can_read(pages, num_bytes()));
    ASSERT_TRUE(can_write(pages, num_bytes()));
    ASSERT_EQ(ftruncate(file, 0), 0);
    EXPECT_FALSE(can_read(pages)) << flags;
    EXPECT_FALSE(can_write(pages)) << flags;
    close(file);
  }
}

TEST_F(HostMemoryTest, SharedMemoryWithoutADescriptorIsTouchedDirectlySinceItKeepsItsSize) {
  if (!remembers()) GTEST_SKIP() << "the kernel has no PROCMAP_QUERY";
  std::byte* const pages = map(MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_EQ(touch_to_read(pages), HostTouch::direct);
  EXPECT_TRUE(knows(pages));
}

TEST_F(HostMemoryTest, SharedMemoryThatMayBecomeShorterIsTheKernelsEachTime) {
  if (!remembers()) GTEST_SKIP() << "the kernel has no PROCMAP_QUERY";
  const int file = memfd_create("isthmus-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(num_bytes())), 0);
  std::byte* const pages = map(MAP_SHARED, file);
  EXPECT_EQ(touch_to_read(pages), HostTouch::by_kernel);
  EXPECT_FALSE(knows(pages));
  close(file);
}

TEST_F(HostMemoryTest, SharedMemoryThatIsShorterThanItsMappingIsFoundOut) {
  void* const small =
      mmap(nullptr, host::page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const grown =
      static_cast<std::byte*>(mremap(small, host::page_bytes(), num_bytes(), MREMAP_MAYMOVE));
  ASSERT_NE(grown, MAP_FAILED);
  EXPECT_TRUE(can_read(grown, host::page_bytes()));
  EXPECT_FALSE(can_read(grown, num_bytes()));
  munmap(grown, num_bytes());
}

TEST_F(HostMemoryTest, MemoryThatMayOnlyBeReadCanNotBeWritten) {
  std::byte* const pages = ordinary_memory();
  ASSERT_EQ(mprotect(pages, num_bytes(), PROT_READ), 0);
  EXPECT_TRUE(can_read(pages));
  EXPECT_FALSE(can_write(pages));
  EXPECT_TRUE(can_read(pages));
}

TEST_F(HostMemoryTest, ARangeThatLeavesItsMappingIsFoundOut) {
  std::byte* const pages = ordinary_memory();
  const std::size_t half_bytes = num_bytes() / 2;
  ASSERT_EQ(mprotect(pages + half_bytes, half_bytes, PROT_NONE), 0);
  EXPECT_TRUE(can_read(pages, half_bytes));
  EXPECT_FALSE(can_read(pages, half_bytes + 1));
}

TEST_F(HostMemoryTest, AGapInTheMiddleOfALongRangeIsFoundOut) {
  std::byte* const pages = ordinary_memory();
  ASSERT_EQ(munmap(middle_of(pages), host::page_bytes()), 0);
  EXPECT_FALSE(can_read(pages, num_bytes()));
  EXPECT_FALSE(can_write(pages, num_bytes()));
  EXPECT_TRUE(can_write(pages, num_bytes() / 2));
}

TEST_F(HostMemoryTest, AProtectedPageInTheMiddleOfALongRangeIsFoundOut) {
  if (!remembers()) GTEST_SKIP() << "the kernel has no PROCMAP_QUERY";
  std::byte* const pages = ordinary_memory();
  ASSERT_EQ(mprotect(middle_of(pages), host::page_bytes(), PROT_READ), 0);
  EXPECT_TRUE(can_read(pages, num_bytes()));
  EXPECT_FALSE(can_write(pages, num_bytes()));
  ASSERT_EQ(mprotect(middle_of(pages), host::page_bytes(), PROT_NONE), 0);
  EXPECT_FALSE(can_read(pages, num_bytes()));
}

TEST_F(HostMemoryTest, AFileInTheMiddleOfALongRangeIsTheKernels) {
  if (!remembers()) GTEST_SKIP() << "the kernel has no PROCMAP_QUERY";
  std::byte* const pages = ordinary_memory();
  EXPECT_EQ(touch_to_read(pages), HostTouch::direct);
  ASSERT_EQ(mmap(middle_of(pages), host::page_bytes(), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
            static_cast<void*>(middle_of(pages)));
  ++now;
  EXPECT_EQ(touch_to_read(pages), HostTouch::by_kernel);
}

TEST_F(HostMemoryTest, SeveralMappingsOfOrdinaryMemoryAreRememberedTogether) {
  if (!remembers()) GTEST_SKIP() << "the kernel has no PROCMAP_QUERY";
  std::byte* const pages = ordinary_memory();
  ASSERT_EQ(madvise(middle_of(pages), host::page_bytes(), MADV_DONTFORK), 0);
  EXPECT_FALSE(knows(pages));
  EXPECT_EQ(touch_to_read(pages), HostTouch::direct);
  EXPECT_TRUE(knows(pages));
  ++now;
  EXPECT_FALSE(knows(pages));
}

TEST_F(HostMemoryTest, NeitherADevicesMemoryNorManagedMemoryIsTheHosts) {
  EXPECT_FALSE(can_read(reinterpret_cast<const void*>(device_memory(contract::kMiB))));
  EXPECT_FALSE(can_read(reinterpret_cast<const void*>(managed_memory(contract::kMiB))));
}

TEST_F(HostMemoryTest, PinnedMemoryCanBeTouchedButNotWhatFollowsIt) {
  const auto* const pinned = pinned_memory(num_bytes());
  EXPECT_TRUE(can_read(pinned, num_bytes()));
  EXPECT_TRUE(can_write(pinned, num_bytes()));
  std::byte* const pages = ordinary_memory();
  const std::size_t half_bytes = num_bytes() / 2;
  driver().call(symbol::mem_host_register)(pages, half_bytes, 0u);
  ASSERT_EQ(mprotect(pages + half_bytes, half_bytes, PROT_NONE), 0);
  EXPECT_TRUE(can_read(pages, half_bytes));
  EXPECT_FALSE(can_read(pages, num_bytes()));
  driver().call(symbol::mem_host_unregister)(pages);
}

TEST_F(HostMemoryTest, BetweenTwoPinnedRegionsAnythingMayLie) {
  std::byte* const pages = ordinary_memory();
  std::byte* const second = middle_of(pages) + host::page_bytes();
  const auto second_bytes = static_cast<std::size_t>(pages + num_bytes() - second);
  driver().call(symbol::mem_host_register)(pages, num_bytes() / 2, 0u);
  driver().call(symbol::mem_host_register)(second, second_bytes, 0u);
  EXPECT_TRUE(can_read(pages, num_bytes()));
  ASSERT_EQ(munmap(middle_of(pages), host::page_bytes()), 0);
  ++now;
  EXPECT_FALSE(can_read(pages, num_bytes()));
  EXPECT_TRUE(can_read(pages, num_bytes() / 2));
  driver().call(symbol::mem_host_unregister)(pages);
  driver().call(symbol::mem_host_unregister)(second);
}

TEST_F(HostMemoryTest, PinnedRegionsWithoutAGapAreTouchedDirectly) {
  const int file = memfd_create("isthmus-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(num_bytes())), 0);
  std::byte* const pages = map(MAP_SHARED, file);
  driver().call(symbol::mem_host_register)(pages, num_bytes() / 2, 0u);
  EXPECT_NE(touch_to_read(pages), HostTouch::direct);
  driver().call(symbol::mem_host_register)(middle_of(pages), num_bytes() / 2, 0u);
  EXPECT_EQ(touch_to_read(pages), HostTouch::direct);
  driver().call(symbol::mem_host_unregister)(pages);
  driver().call(symbol::mem_host_unregister)(middle_of(pages));
  close(file);
}

}  // namespace
}  // namespace isthmus::transfer
