// Copies of one call in many buffers and of many sizes: what is known of one is no other's.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "transfer/many/piece_mover.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

using CopiesOfOneCall = TransfersUnderTest;

/// More buffers than are remembered, in an order in which no two neighbours lie in the same one.
TEST_F(CopiesOfOneCall, OfManyBuffersInAnyOrderArriveInTheirs) {
  constexpr std::size_t kNumBuffers = 100;
  constexpr std::size_t kCopiesOfEach = 3;
  constexpr std::size_t kStep = 37;  // has no divisor in common with their number
  constexpr std::size_t kSize = kCopiesOfEach * kKiB;
  const Bytes sent = random_bytes(kNumBuffers * kSize, 5);
  auto* const host = reinterpret_cast<std::byte*>(pinned_memory(sent.size()));
  std::memcpy(host, sent.data(), sent.size());
  std::vector<CUdeviceptr> buffers;
  for (std::size_t i = 0; i < kNumBuffers; ++i) buffers.push_back(device_memory(kSize));
  std::vector<ManyCopy> copies;
  for (std::size_t i = 0; i < kNumBuffers * kCopiesOfEach; ++i) {
    const std::size_t buffer = i * kStep % kNumBuffers;
    const std::size_t offset = i / kNumBuffers * kKiB;
    copies.push_back(
        {to_pointer(buffers[buffer] + offset), host + buffer * kSize + offset, kKiB, {}});
  }
  transfers().copy_many(copies);
  for (std::size_t i = 0; i < kNumBuffers; ++i) {
    const auto begin = sent.begin() + static_cast<std::ptrdiff_t>(i * kSize);
    const Bytes expected(begin, begin + static_cast<std::ptrdiff_t>(kSize));
    EXPECT_EQ(on_device(buffers[i], kSize), expected) << "buffer " << i;
  }
}

/// What is known about a size must not be used for another, however they follow each other.
TEST_F(CopiesOfOneCall, TakeTheSamePathsInAnyOrder) {
  const std::size_t longest = PieceMover::kMaxPieceBytes;
  const CUdeviceptr device = device_memory(100 * longest);
  auto* const host = reinterpret_cast<std::byte*>(pinned_memory(100 * longest));
  std::vector<ManyCopy> copies;
  for (std::size_t i = 0; i < 100; ++i)
    copies.push_back({to_pointer(device + i * longest),
                      host + i * longest,
                      i % 2 == 0 ? 1 + i * 40 : longest - i * 640,
                      {}});
  const auto paths = [&] {
    std::vector<std::pair<CopyPath, std::size_t>> shares;
    for (const PathShare& share : transfers().explain_many(copies))
      shares.emplace_back(share.path, share.num_copies);
    return shares;
  };
  const auto mixed = paths();
  std::ranges::sort(copies, {}, &ManyCopy::size_bytes);
  EXPECT_EQ(paths(), mixed);
}

}  // namespace
}  // namespace isthmus::transfer
