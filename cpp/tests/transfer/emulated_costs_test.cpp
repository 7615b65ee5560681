// On the emulated device explain() predicts what passes, in modelled time.
#include <algorithm>
#include <cmath>

#include "faults/emulator_controls.hpp"
#include "host/cpu/cgroup.hpp"
#include "transfer/profile/profile.hpp"
#include "transfer/transfers_under_test.hpp"

namespace isthmus::transfer {
namespace {

constexpr double kTolerance = 0.2;
constexpr std::size_t kSizes[] = {4, 4 * kKiB, 64 * kKiB, kMiB, 16 * kMiB, 64 * kMiB};
/// A copy's window is no longer than this.
constexpr std::size_t kLargestWindow = 16 * kMiB;
constexpr std::size_t kLargest = kSizes[std::size(kSizes) - 1];
/// As most programs' memory, it doesn't begin at a page.
constexpr std::size_t kOffPage = 64;

/// Copies between a device and the host, and the modelled time of each.
class EmulatedCosts : public TransfersUnderTest {
protected:
  void SetUp() override {
    TransfersUnderTest::SetUp();
    if (!driver().emulated() || driver().profile() != "small")
      GTEST_SKIP() << "only the emulated driver has modelled time";
    device_ = device_memory(kLargest);
  }

  /// What explain() predicts for a path.
  double predicted(CopyPath path, const void* host, std::size_t size_bytes, Direction direction) {
    const auto [target, source] = ends(host, direction);
    for (const PathCost& cost : transfers().explain(target, source, size_bytes).costs)
      if (cost.path == path) return cost.seconds;
    return -1;
  }

  /// The modelled seconds of the copy. What several threads take at once counts for each of them.
  double passing(CopyPath path, const void* host, std::size_t size_bytes, Direction direction) {
    const isthmus::test::EmulatorControls controls(driver());
    const auto [target, source] = ends(host, direction);
    const CopyOptions options = by(name_of(path));
    transfers().copy(target, source, 4, options);  // opens a window, starts threads
    const unsigned long long before = controls.modelled_ns();
    transfers().copy(target, source, size_bytes, options);
    return static_cast<double>(controls.modelled_ns() - before) * 1e-9;
  }

  void expect_predicted(CopyPath path, const void* host, std::size_t size_bytes,
                        Direction direction, double seconds) {
    const double expected = predicted(path, host, size_bytes, direction);
    EXPECT_NEAR(expected / seconds, 1, kTolerance)
        << name_of(path) << ", " << size_bytes << " bytes, "
        << (direction == Direction::host_to_device ? "up" : "down") << ": " << expected * 1e6
        << " us predicted, " << seconds * 1e6 << " us pass";
  }

  std::uint8_t* pageable() {
    if (pageable_.empty()) pageable_.assign(kLargest + kOffPage + 4096, 1);
    const auto address = reinterpret_cast<std::uintptr_t>(pageable_.data());
    return pageable_.data() + (4096 - address % 4096) + kOffPage;
  }

  CUdeviceptr device_of_test() const { return device_; }

  static constexpr Direction kDirections[] = {Direction::host_to_device, Direction::device_to_host};

private:
  std::pair<void*, const void*> ends(const void* host, Direction direction) const {
    void* const device = to_pointer(device_);
    if (direction == Direction::host_to_device) return {device, host};
    return {const_cast<void*>(host), device};
  }

  CUdeviceptr device_ = 0;
  Bytes pageable_;
};

TEST_F(EmulatedCosts, OfTheDriversCopiesAreAsPredicted) {
  auto* const pinned = pinned_memory(kLargest);
  for (const void* const host : {static_cast<void*>(pinned), static_cast<void*>(pageable())})
    for (const Direction direction : kDirections)
      for (const std::size_t size : kSizes)
        expect_predicted(CopyPath::driver, host, size, direction,
                         passing(CopyPath::driver, host, size, direction));
}

TEST_F(EmulatedCosts, OfWindowsAreAsPredicted) {
  for (const Direction direction : kDirections)
    for (const std::size_t size : kSizes)
      if (size <= kLargestWindow)
        expect_predicted(CopyPath::window, pageable(), size, direction,
                         passing(CopyPath::window, pageable(), size, direction));
}

/// Threads share a copy evenly if they are awake, and the link bounds all of them.
TEST_F(EmulatedCosts, OfWindowsWithThreadsAreAsPredictedIfTheThreadsAreAwake) {
  constexpr double kLinkBytesPerS = 3e9;
  const double num_cores = std::clamp(std::floor(host::effective_cores()), 1.0, 16.0);
  for (const Direction direction : kDirections) {
    const bool up = direction == Direction::host_to_device;
    const std::size_t least_bytes = up ? 32 * kKiB : kKiB + 1;
    for (const std::size_t size : kSizes) {
      if (size > kLargestWindow) break;
      const auto bytes = static_cast<double>(size);
      const double most = up ? 2 : std::ceil(bytes / static_cast<double>(kKiB));
      const double num_threads = size < least_bytes ? 1 : std::min(num_cores, most);
      const double all = passing(CopyPath::window_threads, pageable(), size, direction);
      expect_predicted(CopyPath::window_threads, pageable(), size, direction,
                       std::max(all / num_threads, bytes / kLinkBytesPerS));
    }
  }
}

TEST_F(EmulatedCosts, OfPinningForOneCopyAreAsPredicted) {
  for (const Direction direction : kDirections)
    for (const std::size_t size : kSizes)
      expect_predicted(CopyPath::registered, pageable(), size, direction,
                       passing(CopyPath::registered, pageable(), size, direction));
}

/// Short copies by the ring consist of the CPU's own work, which isn't modelled.
TEST_F(EmulatedCosts, OfStagingAreAsPredictedFromAMebibyteOn) {
  if (host::effective_cores() < 2) GTEST_SKIP() << "one core doesn't stage";
  for (const Direction direction : kDirections)
    for (const std::size_t size : {kMiB, 16 * kMiB, 64 * kMiB})
      expect_predicted(CopyPath::staged, pageable(), size, direction,
                       passing(CopyPath::staged, pageable(), size, direction));
}

TEST_F(EmulatedCosts, MakeWindowsWinForSmallCopiesTheDriverForPinnedOnesAndStagingForPageable) {
  if (host::effective_cores() < 2) GTEST_SKIP() << "one core doesn't stage";
  auto* const pinned = pinned_memory(16 * kMiB);
  const auto chosen = [&](const void* host, std::size_t size, Direction direction) {
    const bool up = direction == Direction::host_to_device;
    void* const device = to_pointer(device_of_test());
    return up ? transfers().explain(device, host, size).path
              : transfers().explain(const_cast<void*>(host), device, size).path;
  };
  const auto is_window = [](CopyPath path) {
    return path == CopyPath::window || path == CopyPath::window_threads;
  };
  for (const Direction direction : kDirections) {
    EXPECT_TRUE(is_window(chosen(pinned, 64, direction)));
    EXPECT_TRUE(is_window(chosen(pageable(), 64, direction)));
    for (const std::size_t size : {kMiB, 16 * kMiB})
      EXPECT_EQ(chosen(pinned, size, direction), CopyPath::driver);
    EXPECT_EQ(chosen(pageable(), 16 * kMiB, direction), CopyPath::staged);
  }
}

}  // namespace
}  // namespace isthmus::transfer
