// Modelled time: no copy is faster than its profile says, and events agree with the model.
#include <algorithm>
#include <chrono>

#include "emulator/emulated_machine.hpp"

namespace isthmus::emulated {
namespace {

// The profile `small`, cpp/emulator/src/machine/profiles.cpp.
constexpr double kPinnedBytesPerS = 3e9;
constexpr double kPageableBytesPerS = 1e9;
constexpr double kLatencyS = 10e-6;
constexpr double kRounding = 1e-6;  // events are floats, in milliseconds

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Timing : public EmulatedMachine {
protected:
  Timing() {
    enter();
    work_ = stream();
    device_ = device_memory(kSizeBytes);
    pinned_ = pinned_memory(kSizeBytes);
    driver().call(symbol::memcpy_htod)(device_, pinned_, kSizeBytes);  // touches the pages
  }

  /// The fastest of several tries, by events: other processes use this machine too.
  template <typename Enqueue>
  double best_event_seconds(Enqueue enqueue) {
    double best = 1e9;
    for (int round = 0; round < 5; ++round) {
      const CUevent first = record(work_);
      enqueue();
      const CUevent last = record(work_);
      synchronize(work_);
      best = std::min(best, seconds_between(first, last));
    }
    return best;
  }

  static constexpr std::size_t kSizeBytes = 8 * kMiB;
  CUstream work_ = nullptr;
  CUdeviceptr device_ = 0;
  std::byte* pinned_ = nullptr;
};

TEST_F(Timing, OfAPinnedUploadIsItsLatencyAndItsBytes) {
  for (const std::size_t size_bytes : {std::size_t{4}, kMiB, kSizeBytes}) {
    const double modelled = kLatencyS + static_cast<double>(size_bytes) / kPinnedBytesPerS;
    const double measured = best_event_seconds(
        [&] { driver().call(symbol::memcpy_htod_async)(device_, pinned_, size_bytes, work_); });
    EXPECT_GE(measured, modelled - kRounding);
    if (size_bytes == kSizeBytes) {
      EXPECT_LE(measured, 10 * modelled) << "far off on any machine";
    }
  }
}

TEST_F(Timing, OfADownloadIsTheSame) {
  const double modelled = kLatencyS + static_cast<double>(kSizeBytes) / kPinnedBytesPerS;
  EXPECT_GE(best_event_seconds([&] {
              driver().call(symbol::memcpy_dtoh_async)(pinned_, device_, kSizeBytes, work_);
            }),
            modelled - kRounding);
}

TEST_F(Timing, OfCopiesBehindEachOtherAddsUp) {
  const double modelled = 10 * (kLatencyS + static_cast<double>(kMiB) / kPinnedBytesPerS);
  const double measured = best_event_seconds([&] {
    for (int copy = 0; copy < 10; ++copy) {
      driver().call(symbol::memcpy_htod_async)(device_, pinned_, kMiB, work_);
    }
  });
  EXPECT_GE(measured, modelled - kRounding);
}

TEST_F(Timing, OfPageableCopiesIsSlower) {
  std::vector<std::byte> pageable(kSizeBytes);
  const auto start = Clock::now();
  driver().call(symbol::memcpy_htod)(device_, pageable.data(), kSizeBytes);
  synchronize(nullptr);
  const double modelled = kLatencyS + static_cast<double>(kSizeBytes) / kPageableBytesPerS;
  EXPECT_GE(seconds_since(start), modelled - kRounding);
}

TEST_F(Timing, PassesForTheCpuToo) {
  const auto start = Clock::now();
  driver().call(symbol::memcpy_htod)(device_, pinned_, kSizeBytes);
  EXPECT_GE(seconds_since(start), kLatencyS + static_cast<double>(kSizeBytes) / kPinnedBytesPerS);
}

TEST_F(Timing, OfAnAsyncCallIsNotThatOfItsCopy) {
  double quickest_return = 1e9;
  double quickest_copy = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    driver().call(symbol::memcpy_htod_async)(device_, pinned_, kSizeBytes, work_);
    quickest_return = std::min(quickest_return, seconds_since(start));
    synchronize(work_);
    quickest_copy = std::min(quickest_copy, seconds_since(start));
  }
  EXPECT_LT(quickest_return, quickest_copy / 2);
}

TEST_F(Timing, OfNothingBetweenTwoEventsIsNotNegative) {
  EXPECT_GE(best_event_seconds([] {}), 0);
}

}  // namespace
}  // namespace isthmus::emulated
