#include <gtest/gtest.h>
#include <sys/resource.h>

#include "fixture_tree.hpp"
#include "host/cpu/cgroup.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/memory/memory_limits.hpp"

namespace isthmus::host {
namespace {

TEST(Cores, AV2QuotaIsReadAsCores) {
  FixtureTree tree;
  tree.file("proc/self/cgroup", "0::/\n").file("sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(cpu_quota_cores(tree.root()), 0.5);
  EXPECT_EQ(effective_cores(tree.root()), 0.5);
}

TEST(Cores, TheTightestOfTheEnclosingGroupsHolds) {
  FixtureTree tree;
  tree.file("proc/self/cgroup", "0::/pod/box\n")
      .file("sys/fs/cgroup/pod/box/cpu.max", "400000 100000\n")
      .file("sys/fs/cgroup/pod/cpu.max", "150000 100000\n")
      .file("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota_cores(tree.root()), 1.5);
}

TEST(Cores, AV1QuotaIsReadAsCores) {
  FixtureTree tree;
  tree.file("proc/self/cgroup", "3:cpu:/\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota_cores(tree.root()), 2.5);
}

TEST(Cores, NoLimitIsNoQuota) {
  FixtureTree tree;
  tree.file("proc/self/cgroup", "3:cpu:/\n0::/\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
      .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
      .file("sys/fs/cgroup/unified/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota_cores(tree.root()), std::nullopt);
  EXPECT_EQ(effective_cores(tree.root()), static_cast<double>(allowed_cpus().size()));
}

TEST(Cores, ADamagedQuotaIsNoQuota) {
  FixtureTree tree;
  tree.file("proc/self/cgroup", "0::/\n").file("sys/fs/cgroup/cpu.max", "100000\n");
  EXPECT_EQ(cpu_quota_cores(tree.root()), std::nullopt);
}

TEST(MemoryLimits, WithoutAGroupLimitTheMachineDecides) {
  FixtureTree tree;
  tree.file("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n")
      .file("proc/self/cgroup", "0::/\n")
      .file("sys/fs/cgroup/memory.max", "max\n");
  const auto limits = memory_limits(tree.root());
  EXPECT_EQ(limits.total_bytes, 1000U * 1024);
  EXPECT_EQ(limits.available_bytes, 600U * 1024);
  EXPECT_EQ(limits.cgroup_limit_bytes, std::nullopt);
}

TEST(MemoryLimits, AGroupLimitLessWhatIsUsedIsAvailable) {
  FixtureTree tree;
  tree.file("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n")
      .file("proc/self/cgroup", "0::/box\n")
      .file("sys/fs/cgroup/box/memory.max", "10000\n")
      .file("sys/fs/cgroup/box/memory.current", "7000\n")
      .file("sys/fs/cgroup/box/memory.stat", "anon 1\ninactive_file 4000\n");
  const auto limits = memory_limits(tree.root());
  EXPECT_EQ(limits.available_bytes, 7000U);
  EXPECT_EQ(limits.cgroup_limit_bytes, 10000U);
}

TEST(MemoryLimits, AV1LimitHoldsAndItsLargestValueMeansNone) {
  FixtureTree tree;
  tree.file("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n")
      .file("proc/self/cgroup", "4:memory:/box\n")
      .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .file("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "8192\n")
      .file("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "9000\n")
      .file("sys/fs/cgroup/memory/box/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n");
  const auto limits = memory_limits(tree.root());
  EXPECT_EQ(limits.available_bytes, 1192U);
  EXPECT_EQ(limits.cgroup_limit_bytes, 8192U);
}

TEST(MemoryLimits, UsageAboveTheLimitLeavesNothing) {
  FixtureTree tree;
  tree.file("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\n")
      .file("proc/self/cgroup", "0::/\n")
      .file("sys/fs/cgroup/memory.max", "10\n")
      .file("sys/fs/cgroup/memory.current", "20\n");
  EXPECT_EQ(memory_limits(tree.root()).available_bytes, 0U);
}

TEST(MemoryLimits, TheLockLimitIsThisProcesssOwn) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  const auto found = memory_limits().memlock_bytes;
  EXPECT_EQ(found.value_or(RLIM_INFINITY), limit.rlim_cur);
}

}  // namespace
}  // namespace isthmus::host
