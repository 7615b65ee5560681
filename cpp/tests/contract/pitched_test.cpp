// cuMemcpy2DAsync, cuMemcpy3DAsync: rows with a larger pitch on one side than on the other.
#include <algorithm>
#include <cstring>

#include "contract/machine_under_test.hpp"

namespace isthmus::contract {
namespace {

class Pitched : public MachineUnderTest {
protected:
  static constexpr std::size_t kRowBytes = 100;
  static constexpr std::size_t kPitchBytes = 512;
  static constexpr std::size_t kNumRows = 9;
  static constexpr std::uint8_t kGap = 0xEE;

  void SetUp() override {
    MachineUnderTest::SetUp();
    if (IsSkipped()) return;
    host_ = pinned_memory(kRowBytes * kNumRows);
    device_ = device_memory(kPitchBytes * kNumRows);
    fill(device_, kPitchBytes * kNumRows, kGap);
    used_ = stream();
  }

  CUDA_MEMCPY2D rows(bool to_device) const {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = host_;
    copy.srcDevice = copy.dstDevice = device_;
    copy.srcPitch = to_device ? kRowBytes : kPitchBytes;
    copy.dstPitch = to_device ? kPitchBytes : kRowBytes;
    copy.WidthInBytes = kRowBytes;
    copy.Height = kNumRows;
    return copy;
  }

  CUresult copy(const CUDA_MEMCPY2D& wanted) {
    return driver().raw(symbol::memcpy_2d_async)(&wanted, used_);
  }
  void copy_and_wait(const CUDA_MEMCPY2D& wanted) {
    EXPECT_EQ(copy(wanted), CUDA_SUCCESS);
    synchronize(used_);
  }
  Bytes on_host() const { return Bytes(host_, host_ + kRowBytes * kNumRows); }

  std::uint8_t* host_ = nullptr;
  CUdeviceptr device_ = 0;
  CUstream used_ = nullptr;
};

TEST_F(Pitched, PutsEachRowAtItsPitchAndLeavesTheGapsAlone) {
  const Bytes bytes = pattern(kRowBytes * kNumRows, 1);
  std::memcpy(host_, bytes.data(), bytes.size());
  copy_and_wait(rows(true));
  const Bytes found = on_device(device_, kPitchBytes * kNumRows);
  for (std::size_t row = 0; row < kNumRows; ++row) {
    const auto begin = found.begin() + static_cast<std::ptrdiff_t>(row * kPitchBytes);
    EXPECT_TRUE(std::equal(begin, begin + kRowBytes, bytes.begin() + row * kRowBytes)) << row;
    EXPECT_EQ(std::count(begin + kRowBytes, begin + kPitchBytes, kGap), kPitchBytes - kRowBytes);
  }
}

TEST_F(Pitched, BringsRowsHomeWithoutTheirGaps) {
  const Bytes bytes = pattern(kRowBytes * kNumRows, 2);
  std::memcpy(host_, bytes.data(), bytes.size());
  copy_and_wait(rows(true));
  std::memset(host_, 0, bytes.size());
  copy_and_wait(rows(false));
  EXPECT_EQ(on_host(), bytes);
}

TEST_F(Pitched, BeginsWhereTheOffsetsSay) {
  const Bytes bytes = pattern(kRowBytes * kNumRows, 3);
  std::memcpy(host_, bytes.data(), bytes.size());
  CUDA_MEMCPY2D one = rows(true);
  one.srcY = 2;
  one.srcXInBytes = 10;
  one.dstY = 3;
  one.dstXInBytes = 7;
  one.WidthInBytes = 20;
  one.Height = 1;
  copy_and_wait(one);
  const Bytes found = on_device(device_ + 3 * kPitchBytes, 30);
  EXPECT_TRUE(
      std::equal(found.begin() + 7, found.begin() + 27, bytes.begin() + 2 * kRowBytes + 10));
  EXPECT_EQ(found[6], kGap);
  EXPECT_EQ(found[27], kGap);
}

TEST_F(Pitched, RunsInTheOrderOfItsStream) {
  Gate held = gate();
  held.hold(used_);
  EXPECT_EQ(copy(rows(true)), CUDA_SUCCESS);
  EXPECT_EQ(query(used_), CUDA_ERROR_NOT_READY);
  held.open();
  synchronize(used_);
}

TEST_F(Pitched, RefusesAPitchThatRowsDoNotFit) {
  CUDA_MEMCPY2D narrow = rows(true);
  narrow.dstPitch = kRowBytes - 1;
  EXPECT_EQ(copy(narrow), CUDA_ERROR_INVALID_VALUE);
}

/// Three slices of five rows on the device, each row and each slice followed by a gap.
class PitchedBox : public MachineUnderTest {
protected:
  static constexpr std::size_t kRowBytes = 100;
  static constexpr std::size_t kPitchBytes = 512;
  static constexpr std::size_t kNumRows = 5;
  static constexpr std::size_t kRowsApart = 6;  ///< from slice to slice
  static constexpr std::size_t kNumSlices = 3;
  static constexpr std::size_t kBytes = kRowBytes * kNumRows * kNumSlices;
  static constexpr std::size_t kDeviceBytes = kPitchBytes * kRowsApart * kNumSlices;
  static constexpr std::uint8_t kGap = 0xEE;

  void SetUp() override {
    MachineUnderTest::SetUp();
    if (IsSkipped()) return;
    host_ = pinned_memory(kBytes);
    device_ = device_memory(kDeviceBytes);
    fill(device_, kDeviceBytes, kGap);
    used_ = stream();
  }

  CUDA_MEMCPY3D box(bool to_device) const {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    copy.srcHost = copy.dstHost = host_;
    copy.srcDevice = copy.dstDevice = device_;
    copy.srcPitch = to_device ? kRowBytes : kPitchBytes;
    copy.dstPitch = to_device ? kPitchBytes : kRowBytes;
    copy.srcHeight = to_device ? kNumRows : kRowsApart;
    copy.dstHeight = to_device ? kRowsApart : kNumRows;
    copy.WidthInBytes = kRowBytes;
    copy.Height = kNumRows;
    copy.Depth = kNumSlices;
    return copy;
  }

  CUresult copy(const CUDA_MEMCPY3D& wanted) {
    return driver().raw(symbol::memcpy_3d_async)(&wanted, used_);
  }
  void copy_and_wait(const CUDA_MEMCPY3D& wanted) {
    EXPECT_EQ(copy(wanted), CUDA_SUCCESS);
    synchronize(used_);
  }
  void put_on_host(const Bytes& bytes) { std::memcpy(host_, bytes.data(), bytes.size()); }

  std::uint8_t* host_ = nullptr;
  CUdeviceptr device_ = 0;
  CUstream used_ = nullptr;
};

TEST_F(PitchedBox, PutsEachRowAtItsPlaceAndLeavesTheGapsAlone) {
  const Bytes bytes = pattern(kBytes, 1);
  put_on_host(bytes);
  copy_and_wait(box(true));
  Bytes expected(kDeviceBytes, kGap);
  for (std::size_t row = 0; row < kNumRows * kNumSlices; ++row) {
    const std::size_t place = row / kNumRows * kRowsApart + row % kNumRows;
    std::memcpy(expected.data() + place * kPitchBytes, bytes.data() + row * kRowBytes, kRowBytes);
  }
  EXPECT_EQ(on_device(device_, kDeviceBytes), expected);
}

TEST_F(PitchedBox, BringsSlicesHomeWithoutTheirGaps) {
  const Bytes bytes = pattern(kBytes, 2);
  put_on_host(bytes);
  copy_and_wait(box(true));
  std::memset(host_, 0, kBytes);
  copy_and_wait(box(false));
  EXPECT_EQ(Bytes(host_, host_ + kBytes), bytes);
}

TEST_F(PitchedBox, OfPageableMemoryGoesThereAndComesBack) {
  Bytes bytes = pattern(kBytes, 5);
  CUDA_MEMCPY3D there = box(true);
  there.srcHost = bytes.data();
  copy_and_wait(there);
  Bytes back(kBytes);
  CUDA_MEMCPY3D home = box(false);
  home.dstHost = back.data();
  copy_and_wait(home);
  EXPECT_EQ(back, bytes);
}

TEST_F(PitchedBox, IsCopiedWithinTheDevice) {
  const Bytes bytes = pattern(kBytes, 6);
  put_on_host(bytes);
  copy_and_wait(box(true));
  const CUdeviceptr packed = device_memory(kBytes);
  CUDA_MEMCPY3D within = box(false);
  within.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  within.dstDevice = packed;
  copy_and_wait(within);
  EXPECT_EQ(on_device(packed, kBytes), bytes);
}

TEST_F(PitchedBox, BeginsWhereTheOffsetsSay) {
  const Bytes bytes = pattern(kBytes, 3);
  put_on_host(bytes);
  CUDA_MEMCPY3D one = box(true);
  one.srcXInBytes = 10;
  one.srcY = 2;
  one.srcZ = 1;
  one.dstXInBytes = 7;
  one.dstY = 3;
  one.dstZ = 2;
  one.WidthInBytes = 20;
  one.Height = one.Depth = 1;
  copy_and_wait(one);
  Bytes expected(kDeviceBytes, kGap);
  std::memcpy(expected.data() + (2 * kRowsApart + 3) * kPitchBytes + 7,
              bytes.data() + (1 * kNumRows + 2) * kRowBytes + 10, 20);
  EXPECT_EQ(on_device(device_, kDeviceBytes), expected);
}

TEST_F(PitchedBox, OfOneSliceNeedsNoHeight) {
  const Bytes bytes = pattern(kBytes, 4);
  put_on_host(bytes);
  CUDA_MEMCPY3D slice = box(true);
  slice.srcHeight = slice.dstHeight = 0;
  slice.Depth = 1;
  copy_and_wait(slice);
  const Bytes last = on_device(device_ + (kNumRows - 1) * kPitchBytes, kRowBytes);
  EXPECT_TRUE(std::equal(last.begin(), last.end(), bytes.begin() + (kNumRows - 1) * kRowBytes));
}

TEST_F(PitchedBox, RunsInTheOrderOfItsStream) {
  Gate held = gate();
  held.hold(used_);
  EXPECT_EQ(copy(box(true)), CUDA_SUCCESS);
  EXPECT_EQ(query(used_), CUDA_ERROR_NOT_READY);
  held.open();
  synchronize(used_);
}

TEST_F(PitchedBox, RefusesAPitchThatRowsDoNotFit) {
  CUDA_MEMCPY3D narrow = box(true);
  narrow.dstPitch = kRowBytes - 1;
  EXPECT_EQ(copy(narrow), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(PitchedBox, RefusesAHeightThatSlicesDoNotFit) {
  CUDA_MEMCPY3D low = box(true);
  low.dstHeight = kNumRows - 1;
  EXPECT_EQ(copy(low), CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace isthmus::contract
