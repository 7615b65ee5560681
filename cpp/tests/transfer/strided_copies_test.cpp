// Copies between two memory layouts, of shapes that no array of Python has.
#include <cstring>

#include <isthmus/errors.hpp>

#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

using StridedCopies = TransfersUnderTest;

TEST_F(StridedCopies, ReadASourceWhoseSlicesLieInOnePlace) {
  constexpr std::size_t kRowBytes = 512;
  constexpr std::size_t kSliceBytes = 4 * kRowBytes;
  const CUdeviceptr source = device_memory(4 * kSliceBytes);
  const CUdeviceptr target = device_memory(2 * kSliceBytes);
  const Bytes sent = random_bytes(4 * kSliceBytes, 1);
  upload(source, sent);
  // Every other row, for both slices.
  transfers().copy_strided({to_pointer(target),
                            to_pointer(source),
                            4,
                            {2, 4, 128},
                            {kSliceBytes, kRowBytes, 4},
                            {0, 2 * kRowBytes, 4}});
  const Bytes arrived = download(target, 2 * kSliceBytes);
  for (std::size_t slice = 0; slice < 2; ++slice)
    for (std::size_t row = 0; row < 4; ++row)
      EXPECT_EQ(std::memcmp(arrived.data() + slice * kSliceBytes + row * kRowBytes,
                            sent.data() + 2 * row * kRowBytes, kRowBytes),
                0)
          << "slice " << slice << ", row " << row;
}

/// Copies two items with a gap between them to a device and back.
void expect_items_there_and_back(Transfers& transfers, CUdeviceptr device, const Bytes& sent,
                                 std::size_t gap_bytes) {
  const std::size_t item_bytes = sent.size() / 2;
  const auto dense = static_cast<std::ptrdiff_t>(item_bytes);
  const auto apart = static_cast<std::ptrdiff_t>(item_bytes + gap_bytes);
  void* const there = reinterpret_cast<void*>(device);
  transfers.copy_strided({there, sent.data(), item_bytes, {2}, {apart}, {dense}});
  Bytes back(sent.size());
  transfers.copy_strided({back.data(), there, item_bytes, {2}, {dense}, {apart}});
  EXPECT_EQ(back, sent);
}

TEST_F(StridedCopies, TakeItemsThatAreLongerThanAPiece) {
  for (const std::size_t item_bytes : {6 * kMiB, 5 * kMiB + 8, 5 * kMiB + 1}) {
    const CUdeviceptr device = device_memory(2 * item_bytes + 24);
    expect_items_there_and_back(transfers(), device, random_bytes(2 * item_bytes, 2), 24);
  }
}

/// Every other item, of sizes that are a word, several words and no word, from and to addresses of
/// the host that are no multiples of anything, so that pieces end anywhere.
TEST_F(StridedCopies, CutItemsOfAnySizeIntoPieces) {
  for (const std::size_t item_bytes : {1, 2, 3, 4, 7, 12, 16, 24, 40}) {
    SCOPED_TRACE(item_bytes);
    const std::size_t num_items = 9 * kMiB / item_bytes + 5;
    const std::size_t size_bytes = num_items * item_bytes;
    const CUdeviceptr device = device_memory(2 * size_bytes);
    const auto dense = static_cast<std::ptrdiff_t>(item_bytes);
    const Bytes sent = random_bytes(size_bytes + 1, 3);
    Bytes back(size_bytes + 2);
    void* const there = to_pointer(device);
    transfers().copy_strided(
        {there, sent.data() + 1, item_bytes, {num_items}, {2 * dense}, {dense}});
    transfers().copy_strided(
        {back.data() + 1, there, item_bytes, {num_items}, {dense}, {2 * dense}});
    EXPECT_EQ(std::memcmp(back.data() + 1, sent.data() + 1, size_bytes), 0);
    EXPECT_EQ(back.front(), decltype(back)::value_type{0});
    EXPECT_EQ(back.back(), decltype(back)::value_type{0});
  }
}

TEST_F(StridedCopies, RefuseANamedPath) {
  const CUdeviceptr device = device_memory(64);
  const Bytes host(8);
  const StridedCopy copy{to_pointer(device), host.data(), 4, {2}, {8}, {4}};
  EXPECT_THROW(transfers().copy_strided(copy, by("staged")), Unavailable);
  EXPECT_THROW(transfers().copy_strided(copy, by("sideways")), UsageError);
}

}  // namespace
}  // namespace isthmus::transfer
