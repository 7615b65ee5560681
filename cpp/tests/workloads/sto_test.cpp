#include "workloads/evaluation/ciphers.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <string_view>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;

Recorded<Sto>& sto() {
  static Recorded<Sto> run(std::make_unique<Sto>(StoSizes(), 1));
  return run;
}

/// FIPS 180-4 literally, for messages of one block.
std::uint32_t first_word_of_sha1(std::string_view message) {
  std::string block(message);
  block += '\x80';
  block.resize(62);
  block += static_cast<char>(message.size() * 8 >> 8U);
  block += static_cast<char>(message.size() * 8);
  std::vector<std::uint32_t> w(80);
  for (std::size_t i = 0; i < 64; ++i)
    w[i / 4] = w[i / 4] << 8U | static_cast<std::uint8_t>(block[i]);
  for (std::size_t i = 16; i < 80; ++i)
    w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  std::uint32_t a = 0x67452301;
  std::uint32_t b = 0xEFCDAB89;
  std::uint32_t c = 0x98BADCFE;
  std::uint32_t d = 0x10325476;
  std::uint32_t e = 0xC3D2E1F0;
  for (std::size_t i = 0; i < 80; ++i) {
    std::uint32_t f = i < 20 ? (b & c) ^ (~b & d) : b ^ c ^ d;
    if (i >= 40 && i < 60) f = (b & c) ^ (b & d) ^ (c & d);
    const std::uint32_t constants[4] = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
    const std::uint32_t next = std::rotl(a, 5) + f + e + constants[i / 20] + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  return a + 0x67452301;
}

TEST(Sto, TheReferenceItselfPassesTheStandardsExample) {
  EXPECT_EQ(first_word_of_sha1("abc"), 0xA9993E36U);  // FIPS 180 example values
}

TEST(Sto, HashesEveryWindowAsTheStandardSays) {
  const StoArguments& in = sto().program.arguments();
  const std::string_view bytes(reinterpret_cast<const char*>(in.words.values),
                               in.words.num_elements * 4);
  for (std::size_t window = 0; window < StoSizes().windows; ++window)
    ASSERT_EQ(in.hashes.values[window], first_word_of_sha1(bytes.substr(4 * window, 52)))
        << "window " << window;
}

TEST(Sto, IsAsLargeAsTheOriginal) {
  EXPECT_NEAR(sto().counted.upload_kib, 192, 0.1);  // ispass2009
  EXPECT_NEAR(sto().counted.touched_kib, 384, 0.5);
  EXPECT_EQ(sto().counted.pages, 1U);
}

TEST(Sto, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(sto().counted.millions(), 134, 1);  // ISPASS'09, Table 1
}

TEST(Sto, ReadsAWindowByOverlappingLoads) {
  // 1536 warps; 13 loads, the first in one line and the others in two; a store.
  EXPECT_EQ(sto().counted.line_requests, 1536U * (1 + 12 * 2 + 1));
}

}  // namespace
}  // namespace isthmus::workloads
