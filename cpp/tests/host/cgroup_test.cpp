#include "host/cpu/cgroup.hpp"

#include <gtest/gtest.h>

#include "fixture_tree.hpp"

namespace isthmus::host {
namespace {

std::vector<std::string> relative_paths(const std::vector<CgroupFolder>& folders,
                                        const std::filesystem::path& root) {
  std::vector<std::string> paths;
  for (const auto& folder : folders) {
    paths.push_back(folder.path.lexically_relative(root / "sys/fs/cgroup").string());
  }
  return paths;
}

using Paths = std::vector<std::string>;

TEST(Cgroup, V2FoldersRunFromTheInnermostToTheRoot) {
  FixtureTree tree;
  tree.file("proc/self/cgroup", "0::/a/b\n").folder("sys/fs/cgroup/a/b");
  const auto folders = cgroup_folders("cpu", tree.root());
  EXPECT_EQ(relative_paths(folders, tree.root()), (Paths{"a/b", "a", "."}));
  EXPECT_EQ(folders.front().version, CgroupVersion::v2);
}

TEST(Cgroup, AGroupThatIsInvisibleInsideAContainerLeavesItsRoot) {
  FixtureTree tree;
  tree.file("proc/self/cgroup", "0::/docker/0123\n").folder("sys/fs/cgroup");
  EXPECT_EQ(relative_paths(cgroup_folders("cpu", tree.root()), tree.root()), Paths{"."});
}

TEST(Cgroup, AGroupAboveTheNamespaceIsNotFollowedOutOfTheHierarchy) {
  FixtureTree tree;
  tree.file("proc/self/cgroup", "0::/../outside\n").folder("sys/fs/cgroup").folder("sys/outside");
  EXPECT_EQ(relative_paths(cgroup_folders("cpu", tree.root()), tree.root()), Paths{"."});
}

TEST(Cgroup, V1ControllersAreFoundAloneAndMountedTogether) {
  FixtureTree tree;
  tree.file("proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/y\n3:cpuset:/z\n")
      .folder("sys/fs/cgroup/cpu,cpuacct/x")
      .folder("sys/fs/cgroup/memory/y");
  const auto cpu = cgroup_folders("cpu", tree.root());
  EXPECT_EQ(relative_paths(cpu, tree.root()), (Paths{"cpu,cpuacct/x", "cpu,cpuacct"}));
  EXPECT_EQ(cpu.front().version, CgroupVersion::v1);
  EXPECT_EQ(relative_paths(cgroup_folders("memory", tree.root()), tree.root()),
            (Paths{"memory/y", "memory"}));
}

TEST(Cgroup, AHybridMachineHasBothVersions) {
  FixtureTree tree;
  tree.file("proc/self/cgroup", "4:memory:/\n0::/\n")
      .folder("sys/fs/cgroup/memory")
      .folder("sys/fs/cgroup/unified");
  EXPECT_EQ(relative_paths(cgroup_folders("memory", tree.root()), tree.root()),
            (Paths{"memory", "unified"}));
}

TEST(Cgroup, DamagedLinesAndNoFileAtAllAreNoGroups) {
  FixtureTree tree;
  EXPECT_TRUE(cgroup_folders("cpu", tree.root()).empty());
  tree.file("proc/self/cgroup", "nonsense\n1:half\n");
  EXPECT_TRUE(cgroup_folders("cpu", tree.root()).empty());
}

}  // namespace
}  // namespace isthmus::host
