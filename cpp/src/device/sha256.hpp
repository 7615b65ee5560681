// SHA-256. Written here because no implementation is always available: libcrypto is no dependency
// and missing on slim systems, Linux's AF_ALG is forbidden in most containers, and no package has a
// small one for C++. The tests check it with NIST's vectors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace isthmus {

/// Hashes bytes that are added in pieces.
/// Source   FIPS 180-4, sections 5 and 6.2.
class Sha256 {
public:
  void add(const void* data, std::size_t size_bytes);

  /// The hash of all added bytes, as 64 hexadecimal digits. The object can't be used afterwards.
  std::string hex();

private:
  void add_block(const std::uint8_t* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> pending_{};
  std::uint64_t num_bytes_ = 0;
};

}  // namespace isthmus
