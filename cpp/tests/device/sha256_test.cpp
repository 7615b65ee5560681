// Source of the vectors: NIST, FIPS 180-2, appendix B, and the examples of FIPS 180-4. The others
// come from Python's hashlib.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "device/kernel_cache.hpp"

namespace isthmus {
namespace {

std::string sha256(std::string_view text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.hex();
}

TEST(Sha256, IsThatOfNistsVectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                   "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, EndsRightlyWhereverTheLastBlockDoes) {
  EXPECT_EQ(sha256(std::string(1, 'x')),
            "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881");
  EXPECT_EQ(sha256(std::string(55, 'x')),
            "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072");
  EXPECT_EQ(sha256(std::string(56, 'x')),
            "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e");
  EXPECT_EQ(sha256(std::string(57, 'x')),
            "ae14a2563ccf969d99aca69ce6bb74981f734bbf9f655f73b8f06db68cab5217");
  EXPECT_EQ(sha256(std::string(63, 'x')),
            "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2");
  EXPECT_EQ(sha256(std::string(64, 'x')),
            "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c");
  EXPECT_EQ(sha256(std::string(65, 'x')),
            "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9");
  EXPECT_EQ(sha256(std::string(119, 'x')),
            "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c");
  EXPECT_EQ(sha256(std::string(120, 'x')),
            "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98");
  EXPECT_EQ(sha256(std::string(127, 'x')),
            "70156a14adbabf98cff3a71c7084b417abf057a8efd27329ca36b7202c87d81f");
  EXPECT_EQ(sha256(std::string(128, 'x')),
            "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464");
  EXPECT_EQ(sha256(std::string(129, 'x')),
            "0ec9eb33e74510bcdd1f2ea55206e82f21649c5c2becbf2b433eb475b34c01bd");
}

TEST(Sha256, IsTheSameInAnyPieces) {
  const std::string text(1000, '\xff');
  for (const std::size_t piece : {1U, 7U, 63U, 64U, 65U, 999U}) {
    Sha256 hash;
    for (std::size_t begin = 0; begin < text.size(); begin += piece) {
      const std::string part = text.substr(begin, piece);
      hash.add(part.data(), part.size());
    }
    EXPECT_EQ(hash.hex(), sha256(text)) << "in pieces of " << piece;
  }
}

}  // namespace
}  // namespace isthmus
