#include "host/cpu/topology.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "fixture_tree.hpp"
#include "host/cpu/cpu_list.hpp"

namespace isthmus::host {
namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

class TwoSockets : public ::testing::Test {
protected:
  TwoSockets() {
    tree_.file("sys/devices/system/node/online", "0,2\n")
        .file("sys/devices/system/node/node0/cpulist", "0-3,8-11\n")
        .file("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       4194304 kB\n")
        .file("sys/devices/system/node/node2/cpulist", "\n")
        .file("sys/devices/system/node/node2/meminfo", "Node 2 MemTotal:       2097152 kB\n")
        .file("sys/bus/pci/devices/0000:ab:00.0/numa_node", "2\n")
        .file("sys/bus/pci/devices/0000:01:00.0/numa_node", "-1\n");
  }
  FixtureTree tree_;
};

TEST_F(TwoSockets, NodesHaveTheirCpusAndMemory) {
  const auto nodes = numa_nodes(tree_.root());
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].id, 0);
  EXPECT_EQ(nodes[0].cpus, (std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(nodes[0].memory_bytes, 4 * kGib);
  EXPECT_EQ(nodes[1].id, 2);
}

TEST_F(TwoSockets, ANodeOfMemoryAloneHasNoCpus) {
  EXPECT_TRUE(numa_nodes(tree_.root())[1].cpus.empty());
  EXPECT_EQ(numa_nodes(tree_.root())[1].memory_bytes, 2 * kGib);
}

TEST_F(TwoSockets, ADeviceIsOnTheNodeTheKernelNames) {
  EXPECT_EQ(pci_numa_node("0000:ab:00.0", tree_.root()), 2);
}

TEST_F(TwoSockets, ADeviceWithoutANodeIsOnNone) {
  EXPECT_EQ(pci_numa_node("0000:01:00.0", tree_.root()), std::nullopt);
  EXPECT_EQ(pci_numa_node("0000:99:00.0", tree_.root()), std::nullopt);
}

TEST(Topology, ADeviceWithoutANodeIsOnTheOnlyOne) {
  FixtureTree tree;
  tree.file("sys/devices/system/node/online", "0\n")
      .file("sys/devices/system/node/node0/cpulist", "0-1\n")
      .file("sys/bus/pci/devices/0000:01:00.0/numa_node", "-1\n");
  EXPECT_EQ(pci_numa_node("0000:01:00.0", tree.root()), 0);
}

TEST(Topology, AKernelThatShowsNoNodesHasOneWithEverything) {
  FixtureTree tree;
  tree.file("proc/meminfo", "MemTotal: 1048576 kB\n");
  const auto nodes = numa_nodes(tree.root());
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].id, 0);
  EXPECT_EQ(nodes[0].cpus, allowed_cpus());
  EXPECT_EQ(nodes[0].memory_bytes, kGib);
}

TEST(Topology, ADamagedListOfNodesIsNotFollowedBeyondWhatLinuxHas) {
  FixtureTree tree;
  tree.file("sys/devices/system/node/online", "0-65536\n");
  EXPECT_EQ(numa_nodes(tree.root()).size(), 1024U);
}

TEST(Topology, ThisMachineHasANodeWithCpus) { EXPECT_FALSE(numa_nodes().front().cpus.empty()); }

TEST(Topology, AddressesAreSpelledAsInSysfs) {
  EXPECT_EQ(sysfs_pci_address("0000:AB:00.0"), "0000:ab:00.0");
  EXPECT_EQ(sysfs_pci_address("00000000:AB:1F.7"), "0000:ab:1f.7");
}

TEST(Topology, AnInvalidPciAddressIsAUsageError) {
  for (const char* wrong : {"", "0", "ab:00.0", "0000:zz:00.0", "0000:ab:00,0", "0000:ab:00.0 ",
                            "00010000:ab:00.0", "../../etc/passwd"}) {
    EXPECT_THROW(sysfs_pci_address(wrong), UsageError) << wrong;
  }
}

}  // namespace
}  // namespace isthmus::host
