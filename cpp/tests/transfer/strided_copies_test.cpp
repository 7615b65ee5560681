// Copies between two memory layouts, of shapes that no array of Python has.
#include <cstring>
#include <utility>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

class StridedCopies : public TransfersUnderTest {
protected:
  /// Copies every other item, of sizes that are a word, several words and no word, from and to
  /// addresses of the host that are no multiples of anything, so that pieces end anywhere.
  void expect_items_of_any_size(std::size_t about_bytes) {
    for (const std::size_t item_bytes : {1, 2, 3, 4, 7, 12, 16, 24, 40}) {
      SCOPED_TRACE(item_bytes);
      const std::size_t num_items = about_bytes / item_bytes + 5;
      const std::size_t size_bytes = num_items * item_bytes;
      const CUdeviceptr device = device_memory(2 * size_bytes);
      const auto dense = static_cast<std::ptrdiff_t>(item_bytes);
      const Bytes sent = pattern(size_bytes + 1, 3);
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
};

TEST_F(StridedCopies, ReadASourceWhoseSlicesLieInOnePlace) {
  constexpr std::size_t kRowBytes = 512;
  constexpr std::size_t kSliceBytes = 4 * kRowBytes;
  const CUdeviceptr source = device_memory(4 * kSliceBytes);
  const CUdeviceptr target = device_memory(2 * kSliceBytes);
  const Bytes sent = pattern(4 * kSliceBytes, 1);
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
    expect_items_there_and_back(transfers(), device, pattern(2 * item_bytes, 2), 24);
  }
}

TEST_F(StridedCopies, CutItemsOfAnySizeIntoPieces) { expect_items_of_any_size(9 * kMiB); }

TEST_F(StridedCopies, CutItemsOfAnySizeForManyThreads) {
  for (RingSettings settings : {small_settings(1), small_settings(5)}) {
    make_transfers(settings);
    expect_items_of_any_size(400 * kKiB);
    settings.marks_by_events = true;
    // Less than the pages at which downloads are cut.
    settings.slot_bytes = 2 * kKiB;
    settings.first_bytes = settings.min_part_bytes = settings.max_part_bytes = kKiB;
    make_transfers(settings);
    expect_items_of_any_size(400 * kKiB);
  }
}

TEST_F(StridedCopies, ConvertItemsOfDifferentSizes) {
  const std::vector<float> sent{0.0F, 1.5F, -2.0F, 300.75F, 65519.0F};
  const CUdeviceptr device = device_memory(64);
  StridedCopy up{to_pointer(device), sent.data(), 0, {sent.size()}, {8}, {4}};
  up.target_type = ItemType::float64;
  up.source_type = ItemType::float32;
  transfers().copy_strided(up);
  std::vector<std::int16_t> back(sent.size());
  StridedCopy down{back.data(), to_pointer(device), 0, {sent.size()}, {2}, {8}};
  down.target_type = ItemType::int16;
  down.source_type = ItemType::float64;
  transfers().copy_strided(down);
  EXPECT_EQ(back, (std::vector<std::int16_t>{0, 1, -2, 300, 32767}));
}

TEST_F(StridedCopies, RefuseATypeAtOneEndOnly) {
  Bytes host(64);
  StridedCopy copy{to_pointer(device_memory(64)), host.data(), 4, {4}, {4}, {4}};
  copy.source_type = ItemType::float32;
  EXPECT_THROW(transfers().copy_strided(copy), UsageError);
}

/// Eight dimensions of which none can be joined: each is longer than its items need.
TEST_F(StridedCopies, TakeEightDimensionsOfItemsThatArentWords) {
  constexpr std::size_t kNumDimensions = 8;
  for (const std::size_t item_bytes : {4, 12, 24, 7}) {
    SCOPED_TRACE(item_bytes);
    const std::vector<std::size_t> shape(kNumDimensions, 2);
    std::vector<std::ptrdiff_t> dense(kNumDimensions);
    std::vector<std::ptrdiff_t> apart(kNumDimensions);
    auto dense_bytes = static_cast<std::ptrdiff_t>(item_bytes);
    std::ptrdiff_t apart_bytes = 2 * dense_bytes;
    for (std::size_t i = kNumDimensions; i-- > 0;) {
      dense[i] = std::exchange(dense_bytes, 2 * dense_bytes);
      apart[i] = std::exchange(apart_bytes, 3 * apart_bytes);
    }
    const CUdeviceptr device = device_memory(static_cast<std::size_t>(apart_bytes));
    const Bytes sent = pattern(static_cast<std::size_t>(dense_bytes), 4);
    Bytes back(sent.size());
    void* const there = to_pointer(device);
    transfers().copy_strided({there, sent.data(), item_bytes, shape, apart, dense});
    transfers().copy_strided({back.data(), there, item_bytes, shape, dense, apart});
    EXPECT_EQ(back, sent);
    const Bytes arrived = on_device(device, static_cast<std::size_t>(apart_bytes));
    // The last item lies one item into each dimension.
    std::ptrdiff_t last = 0;
    for (const std::ptrdiff_t stride : apart) last += stride;
    EXPECT_EQ(
        std::memcmp(arrived.data() + last, sent.data() + sent.size() - item_bytes, item_bytes), 0);
  }
}

/// The ring waits for its own copy. Of the caller's stream it waits only for what was there before.
TEST_F(StridedCopies, OfPageableMemoryDontWaitForWhatComesIntoTheStreamLater) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver logs calls";
  const CUdeviceptr device = device_memory(4 * kMiB);
  const Bytes host = pattern(2 * kMiB, 5);
  const StridedCopy columns{to_pointer(device), host.data(), 4, {host.size() / 4}, {8}, {4}};
  CopyOptions options;
  options.stream = reinterpret_cast<std::uintptr_t>(stream());
  transfers().copy_strided(columns, options);
  const isthmus::test::EmulatorControls emulator(driver());
  emulator.log_calls(1);
  transfers().copy_strided(columns, options);
  emulator.log_calls(0);
  const auto calls = isthmus::test::counts_of_calls(emulator.call_log());
  EXPECT_TRUE(calls.contains("cuLaunchKernel"));
  EXPECT_FALSE(calls.contains("cuStreamSynchronize"));
  emulator.reset();
}

TEST_F(StridedCopies, SayOnceWhatAFailureLeavesUndefined) {
  if (!driver().emulated()) GTEST_SKIP() << "only the emulated driver fails when asked to";
  const CUdeviceptr device = device_memory(4 * kMiB);
  const Bytes host = pattern(2 * kMiB, 6);
  const StridedCopy columns{to_pointer(device), host.data(), 4, {host.size() / 4}, {8}, {4}};
  transfers().copy_strided(columns);
  const isthmus::test::EmulatorControls emulator(driver());
  emulator.fail_call("cuLaunchKernel", 2, CUDA_ERROR_ILLEGAL_ADDRESS);
  const std::string message = message_of<DriverError>([&] { transfers().copy_strided(columns); });
  emulator.reset();
  EXPECT_TRUE(says(message, "all items of the target are undefined")) << message;
  EXPECT_EQ(message.find("undefined"), message.rfind("undefined")) << message;
  transfers().copy_strided(columns);
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
