// A second view of shared memory: who unmaps the first one frees nothing.
#include "host/memory/shared_view.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/memory/pages.hpp"

namespace isthmus::host {
namespace {

constexpr std::size_t kBytes = std::size_t{9} << 20U;

/// Shared memory that is mapped once, and open so that the test can look at it.
class SharedMemory {
public:
  SharedMemory() : descriptor_(memfd_create("isthmus-test", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(descriptor_, kBytes), 0);
    data_ = static_cast<std::byte*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0));
    std::memset(data_, 7, kBytes);
  }
  ~SharedMemory() {
    unmap();
    close(descriptor_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  void unmap() {
    if (data_ != nullptr) munmap(data_, kBytes);
    data_ = nullptr;
  }
  /// Pages that this process's page table has.
  std::size_t num_mapped_pages() const {
    std::size_t count = 0;
    const int table = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    for (std::size_t i = 0; i < kBytes / page_bytes(); ++i) {
      std::uint64_t entry = 0;
      const auto page = reinterpret_cast<std::uintptr_t>(data_) / page_bytes() + i;
      EXPECT_EQ(pread(table, &entry, sizeof entry, static_cast<off_t>(page * sizeof entry)),
                static_cast<ssize_t>(sizeof entry));
      count += entry >> 63U;
    }
    close(table);
    return count;
  }

private:
  int descriptor_;
  std::byte* data_ = nullptr;
};

std::size_t num_views() {
  std::size_t count = 0;
  char line[512];
  FILE* const maps = fopen("/proc/self/maps", "re");
  while (fgets(line, sizeof line, maps) != nullptr)
    if (std::strstr(line, "isthmus-test") != nullptr) ++count;
  fclose(maps);
  return count;
}

TEST(SharedView, KeepsSharedMemoryMappedUntilItsEnd) {
  SharedMemory memory;
  {
    const SharedView view(memory.data(), kBytes);
    EXPECT_TRUE(view.holds());
    EXPECT_EQ(num_views(), 2U);
    memory.unmap();
    EXPECT_EQ(num_views(), 1U);
  }
  EXPECT_EQ(num_views(), 0U);
}

TEST(SharedView, TakesPagesOutOfThePageTableAndLosesNoByte) {
  const SharedMemory memory;
  ASSERT_EQ(memory.num_mapped_pages(), kBytes / page_bytes());
  const SharedView view(memory.data() + 1, kBytes - 2);
  EXPECT_EQ(memory.num_mapped_pages(), 0U);
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(memory.data()[i], std::byte{7});
}

TEST(SharedView, LeavesPrivateMemoryAsItIs) {
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(memory, 7, kBytes);
  const SharedView view(memory, kBytes);
  EXPECT_FALSE(view.holds());
  for (std::size_t i = 0; i < kBytes; ++i) ASSERT_EQ(memory[i], std::byte{7});
  munmap(memory, kBytes);
}

TEST(SharedView, LeavesWhatIsNotOneMapping) {
  const SharedMemory memory;
  EXPECT_FALSE(SharedView(memory.data(), kBytes + 1).holds());
  EXPECT_FALSE(SharedView(nullptr, 1).holds());
  EXPECT_FALSE(SharedView(memory.data(), 0).holds());
}

}  // namespace
}  // namespace isthmus::host
