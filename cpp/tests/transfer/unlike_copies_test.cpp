// Copies of one call in many buffers and of many sizes: what is known of one is no other's.
#include <cstring>
#include <optional>
#include <vector>

#include "transfer/many/choose_many.hpp"
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
  const Bytes sent = pattern(kNumBuffers * kSize, 5);
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

/// More sizes than there are places for.
TEST(WhatIsKnownOfASize, IsNotUsedForAnotherSizeOrKindOfMemory) {
  constexpr std::size_t kStep = 4099;
  AlikeTable table;
  std::size_t num_found_again = 0;
  const auto expect_own = [&](MemoryKind kind, std::size_t size_bytes) {
    const Crossing crossing{Direction::host_to_device, kind, size_bytes};
    const double seconds = static_cast<double>(size_bytes) + (kind == MemoryKind::pinned ? 0.5 : 0);
    AlikeCopies& alike = table.place_of(crossing);
    if (alike.include(crossing))
      ++num_found_again;
    else
      alike = {size_bytes, kind, {CopyPath::driver, seconds}, std::nullopt};
    EXPECT_EQ(table.place_of(crossing).best.seconds, seconds);
  };
  for (const MemoryKind kind : {MemoryKind::pageable, MemoryKind::pinned})
    for (std::size_t size_bytes = 1; size_bytes < kMiB; size_bytes += kStep)
      for (std::size_t times = 0; times < 2; ++times) expect_own(kind, size_bytes);
  for (const MemoryKind kind : {MemoryKind::pageable, MemoryKind::pinned}) expect_own(kind, 1);
  EXPECT_EQ(num_found_again, 2 * (kMiB / kStep + 1));
}

}  // namespace
}  // namespace isthmus::transfer
