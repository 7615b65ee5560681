// Every path copies exactly the given bytes, and so does the chosen one.
#include <cstring>

#include <isthmus/errors.hpp>

#include "faults/emulator_controls.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::size_t kSizes[] = {1, 3, 64, 1000, 4096, 65537, 1000003};
constexpr std::size_t kOffsets[] = {0, 1, 61};

class Path : public TransfersUnderTest, public testing::WithParamInterface<const char*> {};

TEST_P(Path, CarriesBytesBothWaysAndTouchesNoOthers) {
  const CUdeviceptr device = device_memory(4 * kMiB);
  for (const std::size_t size_bytes : kSizes) {
    for (const std::size_t offset : kOffsets) {
      fill(device, size_bytes + 2 * kGuardBytes, kGuard);
      const Bytes source = pattern(size_bytes + offset, static_cast<unsigned>(size_bytes));
      const CUdeviceptr target = device + kGuardBytes + offset;
      transfers().copy(to_pointer(target), source.data() + offset, size_bytes, by(GetParam()));
      const Bytes around = on_device(target - kGuardBytes, size_bytes + kGuardBytes + 64);
      ASSERT_TRUE(all_are(around, 0, kGuardBytes, kGuard));
      ASSERT_EQ(std::memcmp(around.data() + kGuardBytes, source.data() + offset, size_bytes), 0);
      ASSERT_TRUE(all_are(around, kGuardBytes + size_bytes, around.size(), kGuard));
      Bytes back(size_bytes + 2 * kGuardBytes, kGuard);
      transfers().copy(back.data() + kGuardBytes, to_pointer(target), size_bytes, by(GetParam()));
      ASSERT_TRUE(all_are(back, 0, kGuardBytes, kGuard));
      ASSERT_EQ(std::memcmp(back.data() + kGuardBytes, source.data() + offset, size_bytes), 0);
      ASSERT_TRUE(all_are(back, kGuardBytes + size_bytes, back.size(), kGuard));
    }
  }
}

TEST_P(Path, IsCountedWithItsBytesAndTime) {
  const CUdeviceptr device = device_memory(kMiB);
  upload(device, pattern(5000, 1), by(GetParam()));
  download(device, 1000, by(GetParam()));
  for (const PathUse& use : transfers().stats()) {
    const bool taken = name_of(use.path) == GetParam();
    EXPECT_EQ(use.num_copies, taken ? 2u : 0u) << name_of(use.path);
    EXPECT_EQ(use.num_bytes, taken ? 6000u : 0u);
    EXPECT_EQ(use.seconds > 0, taken);
  }
}

TEST_P(Path, BeginsAfterTheWorkOfItsStream) {
  const CUdeviceptr device = device_memory(kMiB);
  const CUstream busy = stream();
  const Bytes bytes = pattern(4096, 3);
  contract::Gate held = gate();
  held.hold(busy);
  driver().call(symbol::memset_d8_async)(device, kGuard, bytes.size(), busy);
  std::atomic<bool> done{false};
  std::thread copier([&] {
    CopyOptions options = in(busy);
    options.path = GetParam();
    upload(device, bytes, options);
    done = true;
  });
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_FALSE(done);
  held.open();
  copier.join();
  EXPECT_EQ(on_device(device, bytes.size()), bytes);
}

INSTANTIATE_TEST_SUITE_P(All, Path,
                         testing::Values("window", "window_threads", "driver", "staged",
                                         "registered"),
                         [](const auto& one) { return std::string(one.param); });

using Chosen = TransfersUnderTest;

TEST_F(Chosen, CarriesEverySizeBothWays) {
  const CUdeviceptr device = device_memory(8 * kMiB);
  for (std::size_t size_bytes = 1; size_bytes <= 8 * kMiB; size_bytes = size_bytes * 3 + 1) {
    const Bytes source = pattern(size_bytes, static_cast<unsigned>(size_bytes));
    upload(device, source);
    ASSERT_EQ(on_device(device, size_bytes), source) << size_bytes;
    ASSERT_EQ(download(device, size_bytes), source) << size_bytes;
  }
}

TEST_F(Chosen, CarriesPinnedMemoryToo) {
  const CUdeviceptr device = device_memory(kMiB);
  auto* const pinned = pinned_memory(kMiB);
  const Bytes bytes = pattern(kMiB, 9);
  std::memcpy(pinned, bytes.data(), kMiB);
  transfers().copy(to_pointer(device), pinned, kMiB);
  std::memset(pinned, 0, kMiB);
  transfers().copy(pinned, to_pointer(device), kMiB);
  EXPECT_EQ(std::memcmp(pinned, bytes.data(), kMiB), 0);
}

TEST_F(Chosen, CarriesMemoryOfWhichOnlyTheFirstPartIsPinned) {
  const CUdeviceptr device = device_memory(8 * kMiB);
  Bytes bytes = pattern(8 * kMiB, 10);
  std::uint8_t* const page =
      bytes.data() + (4096 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 4096);
  const std::size_t size_bytes = 6 * kMiB;
  driver().call(symbol::mem_host_register)(page, kMiB, 0u);
  for (const char* const path : {"", "driver"}) {
    fill(device, size_bytes, 0);
    transfers().copy(to_pointer(device), page, size_bytes, by(path));
    const Bytes arrived = on_device(device, size_bytes);
    EXPECT_EQ(std::memcmp(arrived.data(), page, size_bytes), 0) << path;
    std::memset(page, 0, size_bytes);
    transfers().copy(page, to_pointer(device), size_bytes, by(path));
    EXPECT_EQ(std::memcmp(arrived.data(), page, size_bytes), 0) << path;
  }
  driver().call(symbol::mem_host_unregister)(page);
}

TEST_F(Chosen, CarriesMemoryOfWhichOnlyOtherPartsThanTheFirstArePinned) {
  const CUdeviceptr device = device_memory(kMiB);
  Bytes bytes = pattern(kMiB, 11);
  std::uint8_t* const page =
      bytes.data() + (4096 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 4096);
  // As neighbours on a heap are: one page of the copy, in its middle or at its end, is pinned.
  for (const std::size_t pinned_at : {std::size_t{4096}, std::size_t{8192}}) {
    driver().call(symbol::mem_host_register)(page + pinned_at, std::size_t{4096}, 0u);
    for (const std::size_t size_bytes : {pinned_at + 100, std::size_t{40000}}) {
      for (const CUstream where : {static_cast<CUstream>(nullptr), stream()}) {
        CopyOptions options = in(where);
        options.path = "driver";
        fill(device, size_bytes, 0);
        transfers().copy(to_pointer(device), page + 100, size_bytes, options);
        const Bytes arrived = on_device(device, size_bytes);
        EXPECT_EQ(std::memcmp(arrived.data(), page + 100, size_bytes), 0);
        std::memset(page + 100, 0, size_bytes);
        transfers().copy(page + 100, to_pointer(device), size_bytes, options);
        EXPECT_EQ(std::memcmp(arrived.data(), page + 100, size_bytes), 0);
      }
    }
    driver().call(symbol::mem_host_unregister)(page + pinned_at);
  }
}

TEST_F(Chosen, CarriesMemoryOfWhichTheFirstAndALaterPageArePinned) {
  const CUdeviceptr device = device_memory(kMiB);
  Bytes bytes = pattern(kMiB, 12);
  std::uint8_t* const page =
      bytes.data() + (4096 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 4096);
  constexpr std::size_t kSizeBytes = 40000;
  for (const std::size_t at : {std::size_t{0}, std::size_t{8192}})
    driver().call(symbol::mem_host_register)(page + at, std::size_t{4096}, 0u);
  fill(device, kSizeBytes, 0);
  transfers().copy(to_pointer(device), page + 100, kSizeBytes, by("driver"));
  const Bytes arrived = on_device(device, kSizeBytes);
  EXPECT_EQ(std::memcmp(arrived.data(), page + 100, kSizeBytes), 0);
  std::memset(page + 100, 0, kSizeBytes);
  transfers().copy(page + 100, to_pointer(device), kSizeBytes, by("driver"));
  EXPECT_EQ(std::memcmp(arrived.data(), page + 100, kSizeBytes), 0);
  for (const std::size_t at : {std::size_t{0}, std::size_t{8192}})
    driver().call(symbol::mem_host_unregister)(page + at);
}

TEST_F(Chosen, CopiesFromOneBufferOfADeviceToAnother) {
  const CUdeviceptr first = device_memory(kMiB);
  const CUdeviceptr second = device_memory(kMiB);
  const Bytes bytes = pattern(kMiB, 4);
  send_to_device(first, bytes);
  transfers().copy(to_pointer(second), to_pointer(first), kMiB);
  EXPECT_EQ(on_device(second, kMiB), bytes);
}

TEST_F(Chosen, PathIsTheOneThatExplainNamed) {
  const CUdeviceptr device = device_memory(4 * kMiB);
  for (const std::size_t size_bytes : {std::size_t{256 * kKiB}, 4 * kMiB}) {
    const Bytes bytes = pattern(size_bytes, 5);
    const CopyPlan plan = transfers().explain(to_pointer(device), bytes.data(), size_bytes);
    const bool window = plan.path == CopyPath::window || plan.path == CopyPath::window_threads;
    if (window) continue;  // opened only once it has paid: see the windows' own tests
    const std::uint64_t before = num_copies(plan.path);
    upload(device, bytes);
    EXPECT_EQ(num_copies(plan.path), before + 1) << name_of(plan.path);
  }
}

TEST_F(Chosen, PathsAreExplainedPossibleOnesFirstAndTheOthersWithReasons) {
  const CUdeviceptr device = device_memory(kMiB);
  const auto* const pinned = pinned_memory(kMiB);
  const CopyPlan plan = transfers().explain(to_pointer(device), pinned, kMiB);
  EXPECT_EQ(plan.source, MemoryKind::pinned);
  EXPECT_EQ(plan.target, MemoryKind::device);
  ASSERT_EQ(plan.costs.size(), 5u);
  EXPECT_EQ(plan.path, plan.costs.front().path);
  bool usable_before = true;
  for (const PathCost& cost : plan.costs) {
    EXPECT_TRUE(usable_before || !cost.usable) << name_of(cost.path);
    usable_before = cost.usable;
    if (cost.usable) {
      EXPECT_GT(cost.seconds, 0) << name_of(cost.path);
    } else {
      EXPECT_NE(cost.reason, "") << name_of(cost.path);
    }
  }
  EXPECT_FALSE(plan.measured);
  EXPECT_NE(plan.profile, "");
}

/// The ring is chosen, but can't pin memory.
class WithoutMemoryToPin : public TransfersUnderTest {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (IsSkipped()) return;
    if (!driver().emulated()) GTEST_SKIP() << "a real driver can't be made to fail";
    if (StagingRing(retained()).num_threads() < 2) GTEST_SKIP() << "one core: nothing is staged";
    prefer_the_ring();
    device_ = device_memory(kBytes);
    emulator_.emplace(driver());
    ASSERT_EQ(transfers().explain(to_pointer(device_), bytes_.data(), kBytes).path,
              CopyPath::staged);
    make_pinning_fail();
  }
  void TearDown() override {
    if (emulator_) emulator_->reset();
    TransfersUnderTest::TearDown();
  }

  void make_pinning_fail() {
    for (const char* const symbol : {"cuMemHostAlloc", "cuMemHostRegister"})
      for (int nth = 1; nth <= 8; ++nth)
        emulator_->fail_call(symbol, nth, CUDA_ERROR_OUT_OF_MEMORY);
  }

  static constexpr std::size_t kBytes = 16 * kMiB;
  CUdeviceptr device_ = 0;
  Bytes bytes_ = pattern(kBytes, 6);
  std::optional<isthmus::test::EmulatorControls> emulator_;
};

TEST_F(WithoutMemoryToPin, CopiesGoByTheDriverAndExplainSaysWhy) {
  upload(device_, bytes_);
  EXPECT_EQ(on_device(device_, kBytes), bytes_);
  const CopyPlan plan = transfers().explain(to_pointer(device_), bytes_.data(), kBytes);
  EXPECT_EQ(plan.path, CopyPath::driver);
  const auto staged = std::find_if(plan.costs.begin(), plan.costs.end(), [](const PathCost& cost) {
    return cost.path == CopyPath::staged;
  });
  EXPECT_FALSE(staged->usable);
  EXPECT_NE(staged->reason, "");
}

TEST_F(WithoutMemoryToPin, AsynchronousCopiesGoByTheDriverToo) {
  CopyFuture future =
      transfers().copy_async(to_pointer(device_), bytes_.data(), kBytes, in(stream()));
  future.wait();
  EXPECT_EQ(on_device(device_, kBytes), bytes_);
}

/// A kernel was ready before: it needs little memory, and the ring much.
TEST_F(WithoutMemoryToPin, RowsOfAnArrayWithGapsGoByTheDriverAndItemsAreRefused) {
  constexpr std::ptrdiff_t kItemBytes = 4;
  constexpr std::ptrdiff_t kRowBytes = 256;
  constexpr std::size_t kNumRows = kBytes / (2 * kRowBytes);
  void* const there = to_pointer(device_);
  const StridedCopy rows{there,
                         bytes_.data(),
                         kItemBytes,
                         {kNumRows, kRowBytes / kItemBytes},
                         {2 * kRowBytes, kItemBytes},
                         {kRowBytes, kItemBytes}};
  // Backwards, which only a kernel can.
  void* const last = to_pointer(device_ + 999 * 2 * kItemBytes);
  const StridedCopy items{last, bytes_.data(), kItemBytes, {1000}, {-2 * kItemBytes}, {kItemBytes}};
  emulator_->reset();
  transfers().copy_strided(items);
  transfers().trim();
  make_pinning_fail();
  transfers().copy_strided(rows);
  const Bytes arrived = on_device(device_, kBytes);
  for (std::size_t row = 0; row < kNumRows; ++row)
    ASSERT_EQ(std::memcmp(arrived.data() + row * 2 * kRowBytes, bytes_.data() + row * kRowBytes,
                          kRowBytes),
              0)
        << row;
  emulator_->log_calls(1);
  transfers().copy_strided(rows);
  emulator_->log_calls(0);
  const auto calls = isthmus::test::counts_of_calls(emulator_->call_log());
  EXPECT_FALSE(calls.contains("cuMemHostAlloc") || calls.contains("cuMemHostRegister"))
      << "the ring was tried again, which takes a while each time";
  emulator_->reset();
  make_pinning_fail();
  EXPECT_THROW(transfers().copy_strided(items), Unavailable);
}

TEST_F(WithoutMemoryToPin, TheRingIsTakenAgainAfterTrimming) {
  upload(device_, bytes_);
  emulator_->reset();
  transfers().trim();
  const std::uint64_t before = num_copies(CopyPath::staged);
  upload(device_, bytes_);
  EXPECT_EQ(num_copies(CopyPath::staged), before + 1);
  EXPECT_EQ(on_device(device_, kBytes), bytes_);
}

}  // namespace
}  // namespace isthmus::transfer
