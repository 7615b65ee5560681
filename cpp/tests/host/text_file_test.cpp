#include "host/system/text_file.hpp"

#include <gtest/gtest.h>

#include "fixture_tree.hpp"

namespace isthmus::host {
namespace {

TEST(TextFile, TrailingWhiteSpaceIsDropped) {
  FixtureTree tree;
  tree.file("vendor", "Amazon EC2 \n");
  EXPECT_EQ(read_text(tree.root() / "vendor"), "Amazon EC2");
}

TEST(TextFile, AnEmptyFileIsNotAMissingOne) {
  FixtureTree tree;
  tree.file("empty", "");
  EXPECT_EQ(read_text(tree.root() / "empty"), "");
  EXPECT_EQ(read_text(tree.root() / "missing"), std::nullopt);
}

TEST(TextFile, AFolderCannotBeRead) {
  FixtureTree tree;
  tree.folder("folder");
  EXPECT_EQ(read_text(tree.root() / "folder"), std::nullopt);
}

TEST(TextFile, AnIntegerMustStandAlone) {
  FixtureTree tree;
  tree.file("node", "-1\n").file("words", "12 apples\n");
  EXPECT_EQ(read_integer(tree.root() / "node"), -1);
  EXPECT_EQ(read_integer(tree.root() / "words"), std::nullopt);
  EXPECT_EQ(parse_integer(" 17\t"), 17);
  EXPECT_EQ(parse_integer(""), std::nullopt);
  EXPECT_EQ(parse_integer("max"), std::nullopt);
}

TEST(TextFile, MeminfoLinesAreFoundByWholeName) {
  constexpr const char* kMeminfo = "SwapMemTotal: 1 kB\nMemTotal:       2048 kB\n";
  EXPECT_EQ(meminfo_bytes(kMeminfo, "MemTotal"), 2048U * 1024);
  EXPECT_EQ(meminfo_bytes(kMeminfo, "MemAvailable"), std::nullopt);
  EXPECT_EQ(meminfo_bytes("Node 0 MemTotal: 4 kB", "MemTotal"), 4096U);
  EXPECT_EQ(meminfo_bytes("MemTotal: lots", "MemTotal"), std::nullopt);
  EXPECT_EQ(meminfo_bytes("MemTotal:", "MemTotal"), std::nullopt);
}

TEST(TextFile, StatisticsAreFoundByWholeNameAtTheStartOfALine) {
  constexpr const char* kStatistics = "total_inactive_file 9\ninactive_file_x 8\ninactive_file 7";
  EXPECT_EQ(stat_value(kStatistics, "inactive_file"), 7U);
  EXPECT_EQ(stat_value(kStatistics, "active_file"), std::nullopt);
  EXPECT_EQ(stat_value("", "active_file"), std::nullopt);
}

}  // namespace
}  // namespace isthmus::host
