#include "workloads/evaluation/ciphers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Recorded;
using Bytes = std::array<std::uint8_t, 16>;

Recorded<Aes>& aes() {
  static Recorded<Aes> run(std::make_unique<Aes>(AesSizes(), 1));
  return run;
}

/// FIPS 197 literally, byte by byte: no tables except the S-box, which the test computes by search.
class PlainAes {
public:
  explicit PlainAes(const Bytes& key) {
    for (unsigned byte = 0; byte < 256; ++byte) box_[byte] = box_of(byte);
    std::copy(key.begin(), key.end(), keys_.begin());
    std::uint8_t constant = 1;
    for (std::size_t i = 16; i < keys_.size(); i += 4) {
      std::uint8_t word[4];
      for (std::size_t b = 0; b < 4; ++b) word[b] = keys_[i - 4 + b];
      if (i % 16 == 0) {
        const std::uint8_t first = word[0];
        for (std::size_t b = 0; b < 3; ++b) word[b] = box_[word[b + 1]];
        word[3] = box_[first];
        word[0] ^= constant;
        constant = times(constant, 2);
      }
      for (std::size_t b = 0; b < 4; ++b) keys_[i + b] = keys_[i - 16 + b] ^ word[b];
    }
  }

  Bytes encrypt(Bytes state) const {
    add_key(state, 0);
    for (unsigned round = 1; round <= 10; ++round) {
      for (std::uint8_t& byte : state) byte = box_[byte];
      shift_rows(state);
      if (round < 10) mix_columns(state);
      add_key(state, round);
    }
    return state;
  }

private:
  static std::uint8_t times(unsigned a, unsigned b) {
    unsigned product = 0;
    for (; b != 0; b >>= 1U, a = (a << 1U) ^ ((a & 0x80U) != 0 ? 0x11BU : 0U))
      if ((b & 1U) != 0) product ^= a;
    return static_cast<std::uint8_t>(product);
  }

  static std::uint8_t box_of(unsigned byte) {
    unsigned inverse = 0;
    for (unsigned other = 1; other < 256; ++other)
      if (times(byte, other) == 1) inverse = other;
    unsigned result = 0x63;
    for (unsigned bit = 0; bit < 8; ++bit)
      for (const unsigned from : {0U, 4U, 5U, 6U, 7U})
        result ^= (inverse >> ((bit + from) % 8) & 1U) << bit;
    return static_cast<std::uint8_t>(result);
  }

  void add_key(Bytes& state, std::size_t round) const {
    for (std::size_t i = 0; i < 16; ++i) state[i] ^= keys_[16 * round + i];
  }

  static void shift_rows(Bytes& state) {
    const Bytes before = state;
    for (std::size_t column = 0; column < 4; ++column)
      for (std::size_t row = 0; row < 4; ++row)
        state[4 * column + row] = before[4 * ((column + row) % 4) + row];
  }

  static void mix_columns(Bytes& state) {
    const Bytes before = state;
    for (std::size_t i = 0; i < 16; ++i) {
      const std::size_t column = i / 4 * 4;
      const auto at = [&](std::size_t further) { return before[column + (i + further) % 4]; };
      state[i] = times(at(0), 2) ^ times(at(1), 3) ^ at(2) ^ at(3);
    }
  }

  std::array<std::uint8_t, 256> box_{};
  std::array<std::uint8_t, 176> keys_{};
};

TEST(Aes, TheReferenceItselfPassesTheStandardsExample) {
  Bytes key;
  Bytes plain;
  for (std::uint8_t i = 0; i < 16; ++i) {
    key[i] = i;
    plain[i] = static_cast<std::uint8_t>(i * 0x11);
  }
  // FIPS 197, appendix C.1
  EXPECT_EQ(PlainAes(key).encrypt(plain), (Bytes{0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                                                 0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a}));
}

TEST(Aes, EncryptsEveryBlockAsTheStandardSays) {
  const PlainAes reference(aes().program.key());
  const AesArguments& in = aes().program.arguments();
  for (std::size_t block = 0; block < AesSizes().bytes / 16; ++block) {
    Bytes plain;
    Bytes cipher;
    std::memcpy(plain.data(), in.plain.values + 4 * block, 16);
    std::memcpy(cipher.data(), in.cipher.values + 4 * block, 16);
    ASSERT_EQ(cipher, reference.encrypt(plain)) << "block " << block;
  }
}

TEST(Aes, IsAsLargeAsTheOriginal) {
  EXPECT_NEAR(aes().counted.upload_kib, 257, 0.5);  // ispass2009
  EXPECT_NEAR(aes().counted.touched_kib, 514, 0.5);
  EXPECT_EQ(aes().counted.pages, 1U);
}

TEST(Aes, RunsAsManyInstructionsAsPublished) {
  EXPECT_NEAR(aes().counted.millions(), 28, 0.5);  // ISPASS'09, Table 1
}

}  // namespace
}  // namespace isthmus::workloads
