#include "host/system/pci.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "fixture_tree.hpp"
#include "host/system/virtualization.hpp"

namespace isthmus::host {
namespace {

constexpr const char* kAddress = "0000:06:00.0";
const std::string kDevice = "sys/bus/pci/devices/0000:06:00.0/";

void describe(FixtureTree& tree, const std::string& folder, const char* speed, const char* width) {
  tree.file(folder + "max_link_speed", speed).file(folder + "max_link_width", width);
}

/// A device below a port, as the kernel shows it: the device's entry is a link into the tree.
void describe_below_port(FixtureTree& tree, const char* speed, const char* width) {
  const std::string port = "sys/devices/pci0000:00/0000:00:01.0/";
  describe(tree, port, speed, width);
  describe(tree, port + kAddress + "/", "32.0 GT/s PCIe\n", "16\n");
  tree.link(std::string("sys/bus/pci/devices/") + kAddress,
            std::string("../../../devices/pci0000:00/0000:00:01.0/") + kAddress);
}

TEST(PciLink, EveryGenerationIsTold) {
  const std::pair<const char*, int> speeds[] = {{"2.5 GT/s PCIe\n", 1},  {"5.0 GT/s PCIe\n", 2},
                                                {"8 GT/s\n", 3},         {"16.0 GT/s PCIe\n", 4},
                                                {"32.0 GT/s PCIe\n", 5}, {"64.0 GT/s PCIe\n", 6}};
  for (const auto& [speed, generation] : speeds) {
    FixtureTree tree;
    describe(tree, kDevice, speed, "8\n");
    EXPECT_EQ(pci_link(kAddress, tree.root()), (PciLink{generation, 8})) << speed;
  }
}

TEST(PciLink, APortThatCanDoLessIsTheLimit) {
  FixtureTree tree;
  describe_below_port(tree, "16.0 GT/s PCIe\n", "8\n");
  EXPECT_EQ(pci_link(kAddress, tree.root()), (PciLink{4, 8}));
}

TEST(PciLink, AVirtualMachinesPortSaysNothing) {
  FixtureTree tree;
  describe_below_port(tree, "2.5 GT/s PCIe\n", "1\n");
  EXPECT_EQ(pci_link(kAddress, tree.root()), (PciLink{5, 16}));
}

TEST(PciLink, AMachineWithoutLinkFilesHasNoLink) {
  FixtureTree tree;
  EXPECT_EQ(pci_link(kAddress, tree.root()), std::nullopt);
  describe(tree, kDevice, "Unknown\n", "16\n");
  EXPECT_EQ(pci_link(kAddress, tree.root()), std::nullopt);
  describe(tree, kDevice, "32.0 GT/s PCIe\n", "255\n");
  EXPECT_EQ(pci_link(kAddress, tree.root()), std::nullopt);
}

TEST(PciLink, AnInvalidPciAddressIsRefused) { EXPECT_THROW(pci_link("6", "/"), UsageError); }

TEST(MachineNames, TheCpuAndTheKernelModuleAreRead) {
  FixtureTree tree;
  tree.file("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags\t: a b\n");
  tree.file("proc/driver/nvidia/version",
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n"
            "GCC version:  gcc version 12.2.0\n");
  EXPECT_EQ(cpu_model(tree.root()), "Some CPU @ 2 GHz");
  EXPECT_EQ(nvidia_module_release(tree.root()), "580.159.04");
}

TEST(MachineNames, WhatTheKernelDoesNotSayIsEmpty) {
  FixtureTree tree;
  EXPECT_EQ(cpu_model(tree.root()), "");
  EXPECT_EQ(nvidia_module_release(tree.root()), "");
}

}  // namespace
}  // namespace isthmus::host
