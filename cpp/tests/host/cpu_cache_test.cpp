#include <gtest/gtest.h>

#include <vector>

#include "host/cpu/copy_instructions.hpp"

namespace isthmus::host {
namespace {

TEST(EvictFromCaches, ChangesNoByteOfAnyRange) {
  std::vector<unsigned char> bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  const std::vector<unsigned char> before = bytes;
  for (const std::size_t size_bytes : {0UL, 1UL, 63UL, 64UL, 65UL, 990UL}) {
    EXPECT_EQ(evict_from_caches(bytes.data() + 3, size_bytes), !eviction_instruction().empty());
  }
  EXPECT_EQ(bytes, before);
}

}  // namespace
}  // namespace isthmus::host
