#include "host/system/pci.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "fixture_tree.hpp"

namespace isthmus::host {
namespace {

constexpr const char* kResource = "sys/bus/pci/devices/0000:06:00.0/resource";

TEST(PciBars, TheLargestBarCountsWhateverItsIndex) {
  FixtureTree tree;
  tree.file(kResource,
            "0x00000000f0000000 0x00000000f0ffffff 0x0000000000040200\n"
            "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
            "0x0000100000000000 0x0000101fffffffff 0x000000000014220c\n"
            "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
            "0x0000102000000000 0x0000102001ffffff 0x000000000014220c\n"
            "0x0000000000000000 0x0000000000000000 0x0000000000000000\n");
  EXPECT_EQ(largest_pci_bar_bytes("0000:06:00.0", tree.root()), std::uint64_t{128} << 30U);
}

TEST(PciBars, AnExpansionRomIsNotCounted) {
  FixtureTree tree;
  tree.file(kResource,
            "0x00000000f0000000 0x00000000f0ffffff 0x0000000000040200\n"
            "0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n0x0 0x0 0x0\n"
            "0x0000000100000000 0x00000001ffffffff 0x0000000000046200\n");
  EXPECT_EQ(largest_pci_bar_bytes("0000:06:00.0", tree.root()), std::uint64_t{16} << 20U);
}

TEST(PciBars, AMachineWithoutResourceFilesHasNoBar) {
  FixtureTree tree;
  EXPECT_EQ(largest_pci_bar_bytes("0000:06:00.0", tree.root()), std::nullopt);
  tree.file(kResource, "0x0 0x0 0x0\nnonsense\n");
  EXPECT_EQ(largest_pci_bar_bytes("0000:06:00.0", tree.root()), std::nullopt);
}

TEST(PciBars, AnInvalidPciAddressIsRefused) {
  EXPECT_THROW(largest_pci_bar_bytes("6", "/"), UsageError);
}

}  // namespace
}  // namespace isthmus::host
