#include "host/memory/memory_limits.hpp"

#include <sys/prctl.h>

#include <gtest/gtest.h>

#include "driver/child_process.hpp"
#include "fixture_tree.hpp"

namespace isthmus::host {
namespace {

TEST(HugePages, TheModeIsTheWordInBrackets) {
  EXPECT_EQ(chosen_word("always [madvise] never"), "madvise");
  EXPECT_EQ(chosen_word("[always] madvise never\n"), "always");
  EXPECT_EQ(chosen_word("always"), "");
  EXPECT_EQ(chosen_word("always [madvise"), "");
}

TEST(HugePages, PoolsAreReadInOrderOfSize) {
  FixtureTree tree;
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n")
      .file("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n")
      .file("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "500\n")
      .file("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "2\n")
      .file("sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "0\n")
      .folder("sys/kernel/mm/hugepages/something-else");
  const auto facts = huge_pages(tree.root());
  EXPECT_EQ(facts.transparent, "never");
  ASSERT_EQ(facts.pools.size(), 2U);
  EXPECT_EQ(facts.pools[0].page_bytes, 2U << 20U);
  EXPECT_EQ(facts.pools[0].num_pages, 512U);
  EXPECT_EQ(facts.pools[0].num_free_pages, 500U);
  EXPECT_EQ(facts.pools[1].page_bytes, 1U << 30U);
}

TEST(HugePages, AreGivenWhereTheyAreAdvisedUnlessTheMachineNeverDoes) {
  const auto gives = [](const char* mode, const char* mode_of_the_size) {
    FixtureTree tree;
    tree.file("sys/kernel/mm/transparent_hugepage/enabled", mode);
    if (*mode_of_the_size != '\0')
      tree.file("sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", mode_of_the_size);
    return gives_advised_huge_pages(tree.root());
  };
  EXPECT_TRUE(gives("[always] madvise never", ""));
  EXPECT_TRUE(gives("always [madvise] never", "always [inherit] madvise never"));
  EXPECT_TRUE(gives("always madvise [never]", "always inherit [madvise] never"));
  EXPECT_FALSE(gives("always madvise [never]", ""));
  EXPECT_FALSE(gives("always madvise [never]", "always [inherit] madvise never"));
  EXPECT_FALSE(gives("always [madvise] never", "always inherit madvise [never]"));
}

TEST(HugePages, AreNotGivenToAProcessForWhichTheyAreTurnedOff) {
  FixtureTree tree;
  tree.file("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  EXPECT_TRUE(holds_in_child([&] {
    return gives_advised_huge_pages(tree.root()) && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0 &&
           !gives_advised_huge_pages(tree.root());
  }));
}

TEST(HugePages, AKernelWithoutThemHasNone) {
  const FixtureTree tree;
  const auto facts = huge_pages(tree.root());
  EXPECT_EQ(facts.transparent, "");
  EXPECT_TRUE(facts.pools.empty());
  EXPECT_GE(facts.base_page_bytes, 4096U);
}

}  // namespace
}  // namespace isthmus::host
