
#include <cstring>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <isthmus/errors.hpp>

#include "host/cpu/cpu_list.hpp"
#include "host/cpu/topology.hpp"

namespace isthmus::host {
namespace {

constexpr int kNoSuchNode = 1023;

std::size_t page_bytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// Fresh pages, never touched.
class Pages {
public:
  explicit Pages(std::size_t num_pages) : size_bytes_(num_pages * page_bytes()) {
    address_ = static_cast<std::byte*>(
        mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    // A huge page would be touched as a whole, and count as many.
    madvise(address_, size_bytes_, MADV_NOHUGEPAGE);
  }
  ~Pages() { munmap(address_, size_bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::byte* address() const { return address_; }
  std::size_t size_bytes() const { return size_bytes_; }
  void touch(std::size_t num_pages) { std::memset(address_, 1, num_pages * page_bytes()); }

private:
  std::byte* address_ = nullptr;
  std::size_t size_bytes_;
};

std::size_t total(const std::map<int, std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0},
                         [](std::size_t sum, const auto& entry) { return sum + entry.second; });
}

bool kernel_tells_pages() {
  Pages page(1);
  page.touch(1);
  return !pages_by_node(page.address(), page.size_bytes()).empty();
}

TEST(ThreadBinding, RunsOnTheNodesCpusAndThenOnTheFormerOnes) {
  const auto before = allowed_cpus();
  {
    const ScopedThreadBinding binding(numa_nodes().front().id);
    if (!binding.in_force()) GTEST_SKIP() << "this sandbox refuses thread affinity";
    EXPECT_EQ(allowed_cpus(), binding.cpus());
  }
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(ThreadBinding, NeverWidensWhatTheThreadMayUse) {
  const auto before = allowed_cpus();
  if (before.size() < 2) GTEST_SKIP() << "needs two CPUs";
  std::thread([&] {
    ASSERT_TRUE(allow_cpus({before.back()}));
    const ScopedThreadBinding binding(numa_nodes().back().id);
    EXPECT_EQ(allowed_cpus(), std::vector<int>{before.back()});
  }).join();
}

TEST(ThreadBinding, StaysWithTheThreadWhenNoScopeIsAskedFor) {
  std::thread([] {
    const auto cpus = bind_thread_to_node(numa_nodes().front().id);
    if (cpus.empty()) GTEST_SKIP() << "this sandbox refuses thread affinity";
    EXPECT_EQ(allowed_cpus(), cpus);
  }).join();
}

TEST(ThreadBinding, AnUnknownNodeIsAUsageErrorThatNamesTheKnownOnes) {
  const auto before = allowed_cpus();
  try {
    const ScopedThreadBinding binding(kNoSuchNode);
    FAIL() << "nothing thrown";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("1023; this machine has 0"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(Affinity, AnImpossibleCpuIsRefusedAndChangesNothing) {
  const auto before = allowed_cpus();
  EXPECT_FALSE(allow_cpus({-1}));
  EXPECT_FALSE(allow_cpus({1 << 20}));
  EXPECT_FALSE(allow_cpus({}));
  EXPECT_EQ(allowed_cpus(), before);
}

TEST(MemoryPolicy, PagesTouchedUnderItLieOnTheNode) {
  const int node = numa_nodes().front().id;
  for (const auto placement : {MemoryPlacement::preferred, MemoryPlacement::bound}) {
    Pages pages(16);
    const ScopedMemoryPolicy policy(node, placement);
    pages.touch(16);
    if (!policy.in_force() || !kernel_tells_pages())
      GTEST_SKIP() << "this sandbox has no NUMA calls";
    const std::map<int, std::size_t> expected{{node, 16}};
    EXPECT_EQ(pages_by_node(pages.address(), pages.size_bytes()), expected);
  }
}

TEST(MemoryPolicy, NestsAndRestores) {
  const int node = numa_nodes().front().id;
  const ScopedMemoryPolicy outer(node, MemoryPlacement::bound);
  {
    const ScopedMemoryPolicy inner(node);
  }
  const ScopedMemoryPolicy again(node);
  EXPECT_EQ(again.in_force(), outer.in_force());
}

TEST(MemoryPolicy, AnUnknownNodeIsAUsageError) {
  EXPECT_THROW(ScopedMemoryPolicy{kNoSuchNode}, UsageError);
}

TEST(PagesByNode, PagesNeverTouchedAreOnNoNode) {
  if (!kernel_tells_pages()) GTEST_SKIP() << "this sandbox has no move_pages";
  Pages pages(8);
  pages.touch(3);
  EXPECT_EQ(total(pages_by_node(pages.address(), pages.size_bytes())), 3U);
}

TEST(PagesByNode, ARangeThatCrossesAPageBoundaryHasBothPages) {
  if (!kernel_tells_pages()) GTEST_SKIP() << "this sandbox has no move_pages";
  Pages pages(2);
  pages.touch(2);
  EXPECT_EQ(total(pages_by_node(pages.address() + page_bytes() - 1, 2)), 2U);
}

TEST(PagesByNode, ALargeRangeIsSampled) {
  if (!kernel_tells_pages()) GTEST_SKIP() << "this sandbox has no move_pages";
  Pages pages(100);
  pages.touch(100);
  EXPECT_EQ(total(pages_by_node(pages.address(), pages.size_bytes(), 7)), 7U);
}

TEST(PagesByNode, AnEmptyRangeHasNone) { EXPECT_TRUE(pages_by_node(nullptr, 0).empty()); }

}  // namespace
}  // namespace isthmus::host
