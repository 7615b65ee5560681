// "Ordering" in window.hpp, sentence by sentence: what kernels and copies that start after a write
// see, and what a read sees after them. For running kernels see running_kernel_test.cpp.
#include <cstring>

#include "window/ordering.hpp"

namespace isthmus::window {
namespace {

// --- after write() has returned

using AfterWrite = Ordering;

TEST_F(AfterWrite, AKernelThatIsStartedReadsTheNewBytes) {
  for (const std::size_t size_bytes : {std::size_t{4}, 4 * kKiB, kMiB}) {
    const CUdeviceptr device = device_memory(size_bytes);
    Window window = windows().open(device, size_bytes);
    clear_mismatches();
    for (unsigned round = 1; round <= 20; ++round) {
      const Bytes sent = patterned(size_bytes, round);
      window.write(0, sent.data(), sent.size());
      ASSERT_EQ(mismatches_of_a_kernel(device, size_bytes, round), 0u)
          << size_bytes << " bytes, round " << round;
    }
  }
}

TEST_F(AfterWrite, ByThreadsAKernelThatIsStartedReadsTheNewBytes) {
  const CUdeviceptr device = device_memory(4 * kMiB);
  Window window = windows().open(device, 4 * kMiB, {.num_threads = 4});
  clear_mismatches();
  for (unsigned round = 1; round <= 10; ++round) {
    const Bytes sent = patterned(4 * kMiB, round);
    window.write(0, sent.data(), sent.size());
    ASSERT_EQ(mismatches_of_a_kernel(device, 4 * kMiB, round), 0u) << "round " << round;
  }
}

TEST_F(AfterWrite, ACopyThatIsStartedReadsTheNewBytes) {
  constexpr std::size_t kBytes = 4 * kKiB;
  const CUdeviceptr device = device_memory(kBytes);
  auto* host = pinned_memory(kBytes);
  Window window = windows().open(device, kBytes);
  for (unsigned round = 1; round <= kRounds; ++round) {
    const Bytes sent = pattern(kBytes, round);
    window.write(0, sent.data(), sent.size());
    driver().call(symbol::memcpy_dtoh_async)(host, device, kBytes, work());
    synchronize(work());
    ASSERT_EQ(std::memcmp(host, sent.data(), kBytes), 0) << "round " << round;
  }
}

TEST_F(AfterWrite, TheSourceMayBeReused) {
  const CUdeviceptr device = device_memory(kMiB);
  Window window = windows().open(device, kMiB, {.num_threads = 2});
  Bytes source = pattern(kMiB, 1);
  const Bytes sent = source;
  window.write(0, source.data(), source.size());
  std::fill(source.begin(), source.end(), std::uint8_t{0});
  EXPECT_TRUE(on_device(device, kMiB) == sent);
}

// --- after post() has returned

using AfterPost = Ordering;

TEST_F(AfterPost, AFenceSendsThePostedBytes) {
  const CUdeviceptr first = device_memory(kMiB);
  const CUdeviceptr second = device_memory(kMiB);
  Window one = windows().open(first, kMiB);
  Window other = windows().open(second, kMiB);
  clear_mismatches();
  for (unsigned round = 1; round <= 50; ++round) {
    const Bytes sent = patterned(kKiB, round);
    for (std::size_t done = 0; done < kKiB; done += 64) one.post(done, &sent[done], 64);
    other.post(0, sent.data(), kKiB);
    Window::fence();
    ASSERT_EQ(mismatches_of_a_kernel(first, kKiB, round), 0u) << "round " << round;
    ASSERT_EQ(mismatches_of_a_kernel(second, kKiB, round), 0u) << "round " << round;
  }
}

TEST_F(AfterPost, AWriteFencesThePostedBytesToo) {
  const CUdeviceptr first = device_memory(kMiB);
  const CUdeviceptr second = device_memory(kMiB);
  Window one = windows().open(first, kMiB);
  Window other = windows().open(second, kMiB);
  clear_mismatches();
  for (unsigned round = 1; round <= 50; ++round) {
    const Bytes sent = patterned(kKiB, round);
    one.post(0, sent.data(), kKiB);
    other.write(0, sent.data(), 4);
    ASSERT_EQ(mismatches_of_a_kernel(first, kKiB, round), 0u) << "round " << round;
  }
}

// --- read()

using AfterWaiting = Ordering;

TEST_F(AfterWaiting, ForAKernelsStreamItsBytesAreRead) {
  const CUdeviceptr device = device_memory(kMiB);
  const Window window = windows().open(device, kMiB);
  for (unsigned round = 1; round <= 20; ++round) {
    launch_fill(device, kMiB, round, work());
    synchronize(work());
    ASSERT_TRUE(has_pattern(read(window, 0, kMiB), round)) << "round " << round;
  }
}

TEST_F(AfterWaiting, ForAnEventAfterAKernelItsBytesAreRead) {
  const CUdeviceptr device = device_memory(64 * kKiB);
  const Window window = windows().open(device, 64 * kKiB, {.num_threads = 4});
  const CUevent done = event();
  for (unsigned round = 1; round <= 50; ++round) {
    launch_fill(device, 64 * kKiB, round, work());
    driver().call(symbol::event_record)(done, work());
    driver().call(symbol::event_synchronize)(done);
    ASSERT_TRUE(has_pattern(read(window, 0, 64 * kKiB), round)) << "round " << round;
  }
}

TEST_F(AfterWaiting, ForTheContextAKernelsBytesAreRead) {
  const CUdeviceptr device = device_memory(4 * kKiB);
  const Window window = windows().open(device, 4 * kKiB);
  for (unsigned round = 1; round <= 50; ++round) {
    launch_fill(device, 4 * kKiB, round, work());
    driver().call(symbol::ctx_synchronize)();
    ASSERT_TRUE(has_pattern(read(window, 0, 4 * kKiB), round)) << "round " << round;
  }
}

TEST_F(AfterWaiting, ForACopyItsBytesAreRead) {
  constexpr std::size_t kBytes = 16 * kKiB;
  const CUdeviceptr device = device_memory(kBytes);
  auto* host = pinned_memory(kBytes);
  const Window window = windows().open(device, kBytes);
  for (unsigned round = 1; round <= kRounds; ++round) {
    const Bytes sent = pattern(kBytes, round);
    std::copy(sent.begin(), sent.end(), host);
    driver().call(symbol::memcpy_htod_async)(device, host, kBytes, work());
    synchronize(work());
    ASSERT_TRUE(read(window, 0, kBytes) == sent) << "round " << round;
  }
}

/// A blocking copy from pageable memory may return before its bytes have arrived, but not on the
/// buffer of a window.
TEST_F(AfterWaiting, ForABlockingCopyOfAnyMemoryItsBytesAreRead) {
  for (const std::size_t size_bytes : {std::size_t{4}, kKiB, 64 * kKiB, kMiB}) {
    const CUdeviceptr device = device_memory(size_bytes);
    const Window window = windows().open(device, size_bytes);
    for (unsigned round = 1; round <= 20; ++round) {
      const Bytes sent = pattern(size_bytes, round);
      driver().call(symbol::memcpy_htod)(device, sent.data(), size_bytes);
      ASSERT_TRUE(read(window, 0, size_bytes) == sent) << size_bytes << " bytes, round " << round;
    }
  }
}

TEST_F(AfterWaiting, ForTheStreamOfACopyToCreatedMemoryItsBytesAreRead) {
  const CUdeviceptr device = created_memory(1);
  const Window window = windows().open(device, granule_bytes());
  for (unsigned round = 1; round <= 20; ++round) {
    const Bytes sent = pattern(64 * kKiB, round);
    driver().call(symbol::memcpy_htod)(device, sent.data(), sent.size());
    synchronize(nullptr);
    ASSERT_TRUE(read(window, 0, sent.size()) == sent) << "round " << round;
  }
}

using OwnBytes = Ordering;

TEST_F(OwnBytes, AreReadAfterTheyWereWrittenThroughTheSameWindow) {
  const CUdeviceptr device = device_memory(64 * kKiB);
  for (const int num_threads : {1, 4}) {
    Window window = windows().open(device, 64 * kKiB, {.num_threads = num_threads});
    for (unsigned round = 1; round <= kRounds; ++round) {
      const std::size_t offset = round * 37;
      const Bytes sent = pattern(1 + round * 113, round);
      window.write(offset, sent.data(), sent.size());
      ASSERT_TRUE(read(window, offset, sent.size()) == sent) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace isthmus::window
