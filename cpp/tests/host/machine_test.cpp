#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "fixture_tree.hpp"
#include "host/cpu/clock.hpp"
#include "host/system/pci.hpp"
#include "host/system/virtualization.hpp"

namespace isthmus::host {
namespace {

TEST(Iommu, GroupsAreCounted) {
  FixtureTree tree;
  EXPECT_EQ(num_iommu_groups(tree.root()), 0U);
  tree.folder("sys/kernel/iommu_groups/0").folder("sys/kernel/iommu_groups/17");
  EXPECT_EQ(num_iommu_groups(tree.root()), 2U);
}

TEST(Iommu, ADeviceIsInTheGroupItsLinkNames) {
  FixtureTree tree;
  tree.file("sys/kernel/iommu_groups/17/type", "identity\n")
      .link("sys/bus/pci/devices/0000:01:00.0/iommu_group", "../../../../kernel/iommu_groups/17");
  const auto group = iommu_group("0000:01:00.0", tree.root());
  ASSERT_TRUE(group.has_value());
  EXPECT_EQ(group->id, 17);
  EXPECT_EQ(group->type, "identity");
}

TEST(Iommu, ADeviceWithoutALinkIsInNoGroup) {
  FixtureTree tree;
  EXPECT_FALSE(iommu_group("0000:01:00.0", tree.root()).has_value());
  tree.link("sys/bus/pci/devices/0000:01:00.0/iommu_group", "../somewhere");
  EXPECT_FALSE(iommu_group("0000:01:00.0", tree.root()).has_value());
  EXPECT_THROW(iommu_group("gpu0", tree.root()), UsageError);
}

TEST(Virtualization, TheHypervisorBitMakesAVirtualMachine) {
  FixtureTree tree;
  tree.file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
      .file("sys/class/dmi/id/product_name", "p5.48xlarge\n");
  const auto facts = virtualization(tree.root(), {true, "KVMKVMKVM"});
  EXPECT_TRUE(facts.virtual_machine);
  EXPECT_EQ(facts.hypervisor, "KVMKVMKVM");
  EXPECT_EQ(facts.system_vendor, "Amazon EC2");
  EXPECT_EQ(facts.product_name, "p5.48xlarge");
  EXPECT_EQ(facts.container, "");
}

TEST(Virtualization, FirmwareWhoseNamesAreNoTextIsNamedAllTheSame) {
  FixtureTree tree;
  tree.file("sys/class/dmi/id/sys_vendor", "Acm\xe9\n")
      .file("sys/class/dmi/id/product_name", "To be filled\x01\n")
      .file("run/systemd/container", "\xff\n");
  const auto facts = virtualization(tree.root(), {true, "\x80VM"});
  EXPECT_EQ(facts.system_vendor, "Acm\xef\xbf\xbd");
  EXPECT_EQ(facts.product_name, "To be filled?");
  EXPECT_EQ(facts.container, "\xef\xbf\xbd");
  EXPECT_EQ(facts.hypervisor, "\xef\xbf\xbdVM");
}

TEST(Virtualization, TheKernelsOwnFlagCountsToo) {
  FixtureTree tree;
  tree.file("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse hypervisor\n");
  EXPECT_TRUE(virtualization(tree.root(), {}).virtual_machine);
}

TEST(Virtualization, ALongerWordIsNotTheFlag) {
  FixtureTree tree;
  tree.file("proc/cpuinfo", "model name\t: hypervisor \nflags\t\t: fpu nohypervisor sse\n");
  EXPECT_FALSE(virtualization(tree.root(), {}).virtual_machine);
}

TEST(Virtualization, ContainersAreKnownByTheirMarks) {
  const std::pair<const char*, const char*> by_file[] = {{".dockerenv", "docker"},
                                                         {"run/.containerenv", "podman"}};
  for (const auto& [file, name] : by_file) {
    FixtureTree tree;
    tree.file(file, "");
    EXPECT_EQ(virtualization(tree.root(), {}).container, name);
  }
  FixtureTree tree;
  tree.file("proc/self/cgroup", "0::/kubepods.slice/pod1\n");
  EXPECT_EQ(virtualization(tree.root(), {}).container, "kubernetes");
  tree.file("run/systemd/container", "systemd-nspawn\n");
  EXPECT_EQ(virtualization(tree.root(), {}).container, "systemd-nspawn");
}

TEST(Virtualization, ThisMachineCanBeAsked) {
  const auto flag = hypervisor_flag();
  EXPECT_LE(flag.signature.size(), 12U);
  EXPECT_GE(virtualization().virtual_machine, flag.present);
}

TEST(Clock, NeverRunsBackwards) {
  std::int64_t last = steady_ns();
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t now = steady_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(Clock, ReadingItCostsSomethingButNoMillisecond) {
  const double overhead_ns = timer_overhead_ns();
  EXPECT_GT(overhead_ns, 0.0);
  EXPECT_LT(overhead_ns, 1e6);
}

}  // namespace
}  // namespace isthmus::host
