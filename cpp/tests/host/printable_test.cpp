#include "host/system/printable.hpp"

#include <gtest/gtest.h>

#include <string>

namespace isthmus::host {
namespace {

using namespace std::string_literals;

TEST(Printable, TextIsLeftAsItIs) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("NVIDIA H100"), "NVIDIA H100");
  EXPECT_EQ(printable("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(Printable, BytesThatAreNoCharacterAreReplaced) {
  for (const std::string& wrong :
       {"\xff"s, "\x80"s, "\xc3"s, "\xc1\xbf"s.substr(0, 1), "\xe2\x82"s.substr(0, 1)})
    EXPECT_EQ(printable("a" + wrong + "b"),
              "a\xef\xbf\xbd"
              "b");
  // Overlong, a surrogate, beyond U+10FFFF: none of these bytes belongs to a character.
  EXPECT_EQ(printable("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Printable, ControlCharactersAreNotPassedToATerminal) {
  EXPECT_EQ(printable("\x1b[31mred\0\r\n\x7f"s), "?[31mred????");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m");
}

TEST(Printable, ALongTextIsCutBetweenTwoCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("ab\xe2\x82\xac", 4), "ab...");
  EXPECT_EQ(printable("ab\xff", 2), "ab...");
}

}  // namespace
}  // namespace isthmus::host
