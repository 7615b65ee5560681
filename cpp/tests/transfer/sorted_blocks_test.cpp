// Many short blocks of long pools, which go in the order of the host's addresses.
#include <sys/mman.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

/// A pinned pool of over 1 GiB, of which only the pages of blocks take room, and its like on the GPU.
class SortedBlocks : public TransfersUnderTest {
protected:
  static constexpr std::size_t kCount = 8800, kStride = std::size_t{128} << 10U, kBytes = 64;

  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (IsSkipped()) return;
    if (!driver().emulated()) GTEST_SKIP() << "a real driver pins all of it";
    memory_ = mmap(nullptr, kCount * kStride, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory_, MAP_FAILED);
    madvise(memory_, kCount * kStride, MADV_NOHUGEPAGE);
    driver().call(symbol::mem_host_register)(memory_, kCount * kStride, 0U);
    device_ = device_memory(kCount * kBytes);
    targets_.resize(kCount);
    std::iota(targets_.begin(), targets_.end(), 0);
    sources_ = targets_;
    std::mt19937 random(3);
    std::ranges::shuffle(targets_, random);
    std::ranges::shuffle(sources_, random);
  }
  void TearDown() override {
    drop_transfers();
    if (memory_ != nullptr) {
      driver().raw(symbol::mem_host_unregister)(memory_);
      munmap(memory_, kCount * kStride);
    }
    TransfersUnderTest::TearDown();
  }

  std::uint8_t* host_block(std::int64_t i) const {
    return static_cast<std::uint8_t*>(memory_) + static_cast<std::size_t>(i) * kStride;
  }
  BlockCopy up() {
    host_ = {memory_, kCount, kStride};
    there_ = {to_pointer(device_), kCount, kBytes};
    return {std::span(&there_, 1), std::span(&host_, 1), kBytes,
            targets_.data(),       sources_.data(),      kCount};
  }
  BlockCopy down() {
    BlockCopy copy = up();
    std::swap(copy.targets, copy.sources);
    std::swap(copy.target_index, copy.source_index);
    return copy;
  }
  void write_host(unsigned seed) const {
    for (std::size_t i = 0; i < kCount; ++i)
      std::fill_n(host_block(static_cast<std::int64_t>(i)), kBytes,
                  static_cast<std::uint8_t>(i * 7 + seed));
  }
  /// Whether each block of the device has the byte of its source on the host.
  void expect_on_device(unsigned seed, std::size_t but = kCount) {
    const Bytes there = on_device(device_, kCount * kBytes);
    for (std::size_t i = 0; i < kCount; ++i)
      if (i != but)
        ASSERT_EQ(there[static_cast<std::size_t>(targets_[i]) * kBytes + kBytes - 1],
                  static_cast<std::uint8_t>(static_cast<unsigned>(sources_[i]) * 7 + seed));
  }
  int num_launches(const BlockCopy& copy) {
    const isthmus::test::EmulatorControls emulator(driver());
    emulator.log_calls(1);
    transfers().copy_blocks(copy).wait();
    emulator.log_calls(0);
    auto calls = isthmus::test::counts_of_calls(emulator.call_log());
    return calls["cuLaunchKernel"] + calls["cuLaunchKernelEx"];
  }

  void* memory_ = nullptr;
  CUdeviceptr device_ = 0;
  BlockPool host_, there_;
  std::vector<std::int64_t> targets_, sources_;
};

TEST_F(SortedBlocks, ArriveInBothDirectionsAfterTwoLaunchesMore) {
  write_host(1);
  EXPECT_EQ(num_launches(up()), 3);
  expect_on_device(1);
  write_host(9);
  EXPECT_EQ(num_launches(down()), 3);
  for (std::size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(*host_block(sources_[i]),
              static_cast<std::uint8_t>(static_cast<unsigned>(sources_[i]) * 7 + 1));
}

TEST_F(SortedBlocks, GoAsTheyAreIfTheyAreFew) {
  BlockCopy copy = up();
  copy.num_blocks = 1000;
  EXPECT_EQ(num_launches(copy), 1);
}

TEST_F(SortedBlocks, AreReportedWithTheirPositionIfAnIndexOnTheDeviceIsWrong) {
  write_host(4);
  const std::int64_t good = std::exchange(sources_[4321], std::int64_t{1} << 40U);
  const auto send = [&](const std::vector<std::int64_t>& index) {
    const CUdeviceptr there = device_memory(kCount * sizeof index[0]);
    driver().call(symbol::memcpy_htod)(there, index.data(), kCount * sizeof index[0]);
    return to_pointer(there);
  };
  BlockCopy copy = up();
  copy.target_index.data = send(targets_);
  copy.source_index.data = send(sources_);
  sources_[4321] = good;
  CopyFuture future = transfers().copy_blocks(copy);
  EXPECT_TRUE(says(message_of<UsageError>([&] { future.wait(); }), "source_index[4321]"));
  transfers().check_blocks();
  expect_on_device(4, 4321);
}

TEST_F(SortedBlocks, OfOneStreamDoNotWaitForThoseOfAnother) {
  write_host(5);
  transfers().copy_blocks(up()).wait();  // kernels are loaded
  const CUdeviceptr elsewhere = device_memory(kCount * kBytes);
  const auto in = [&](CUstream stream) {
    BlockOptions options;
    options.stream = reinterpret_cast<std::uintptr_t>(stream);
    return options;
  };
  const CUstream first = stream();
  isthmus::contract::Gate held = gate();
  held.hold(first);
  CopyFuture waits = transfers().copy_blocks(up(), in(first));
  BlockCopy copy = up();
  there_.address = to_pointer(elsewhere);
  transfers().copy_blocks(copy, in(stream())).wait();
  EXPECT_FALSE(waits.ready());
  held.open();
  waits.wait();
}

TEST_F(SortedBlocks, GoAsTheyAreIfTheDeviceHasNoMemoryLeft) {
  write_host(6);
  BlockCopy few = up();
  few.num_blocks = 10;
  transfers().copy_blocks(few).wait();
  const isthmus::test::EmulatorControls emulator(driver());
  emulator.fail_call("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(num_launches(up()), 1);
  emulator.reset();
  expect_on_device(6);
  EXPECT_EQ(num_launches(up()), 3);
}

TEST_F(SortedBlocks, LeaveNothingBehindIfACallOfTheDriverFails) {
  const isthmus::test::EmulatorControls emulator(driver());
  for (const char* symbol :
       {"cuMemAlloc", "cuEventCreate", "cuStreamWaitEvent", "cuLaunchKernel", "cuEventRecord"})
    for (int nth = 1; nth <= 3; ++nth) {
      drop_transfers();
      make_transfers();
      write_host(2);
      emulator.fail_call(symbol, nth, CUDA_ERROR_OUT_OF_MEMORY);
      try {
        transfers().copy_blocks(up()).wait();
      } catch (
          const std::exception& error) {  // NOLINT(bugprone-empty-catch): what it says is its own
      }
      emulator.reset();
      transfers().copy_blocks(up()).wait();
      ASSERT_NO_FATAL_FAILURE(expect_on_device(2)) << symbol << " " << nth;
    }
}

}  // namespace
}  // namespace isthmus::transfer
