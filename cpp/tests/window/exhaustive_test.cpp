// Random writes and reads of any length, offset and alignment, compared with the driver's copies.
// ISTHMUS_WINDOW_CASES sets their number, ISTHMUS_WINDOW_SEED the seed.
#include <algorithm>
#include <cmath>
#include <random>

#include "window/windows_under_test.hpp"

namespace isthmus::window {
namespace {

constexpr std::uint64_t kCases = 20000;
constexpr std::size_t kMaxBytes = 64 * kKiB;
constexpr std::size_t kMargin = 160;  // bytes checked on both sides of the copied ones
constexpr std::uint8_t kGuard = 0xa5;

/// The position of a window in a buffer.
struct Place {
  std::size_t buffer_bytes;
  std::size_t offset_bytes;
  std::size_t window_bytes;
};

struct Case {
  std::size_t offset_bytes;  ///< in the window
  std::size_t size_bytes;
  std::size_t host_offset_bytes;  ///< from a page boundary
};

/// A buffer, a window on part of it, and the expected contents of the buffer.
class RandomCopies : public WindowsUnderTest {
protected:
  void SetUp() override {
    WindowsUnderTest::SetUp();
    if (IsSkipped()) return;
    seed_ = number_from("ISTHMUS_WINDOW_SEED", 1);
    random_.seed(seed_);
    host_.resize(kMaxBytes + 2 * 4096);
    aligned_host_ =
        (kMargin + 4095 + reinterpret_cast<std::uintptr_t>(host_.data())) & ~std::uintptr_t{4095};
    noise_ = pattern(2 * kMaxBytes, 2);
  }

  void make_buffer(std::size_t size_bytes) {
    device_ = device_memory(size_bytes);
    staging_ = pinned_memory(size_bytes);
    mirror_ = pattern(size_bytes, 1);
    send_to_device(device_, mirror_);
  }

  /// Lengths with evenly distributed numbers of digits: most are a few bytes, some are long.
  Case next_case(std::size_t window_bytes) {
    const std::size_t max_bytes = std::min(window_bytes, kMaxBytes);
    const double largest_exponent = std::log2(static_cast<double>(max_bytes) + 1);
    const double exponent = std::uniform_real_distribution<>(0, largest_exponent)(random_);
    const std::size_t size_bytes = static_cast<std::size_t>(std::exp2(exponent)) % (max_bytes + 1);
    return {below(window_bytes - size_bytes + 1), size_bytes, below(128)};
  }
  std::size_t below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  std::uint8_t* host_at(const Case& one) {
    return reinterpret_cast<std::uint8_t*>(aligned_host_) + one.host_offset_bytes;
  }

  /// Writes new bytes into host memory at the case's alignment, and into the mirror at their
  /// target.
  const std::uint8_t* prepare(const Case& one, std::size_t window_offset) {
    const auto fresh = noise_.begin() + static_cast<std::ptrdiff_t>(below(kMaxBytes));
    std::copy_n(fresh, one.size_bytes, host_at(one));
    std::copy_n(fresh, one.size_bytes, mirror_at(window_offset + one.offset_bytes));
    return host_at(one);
  }

  void expect_on_device(const Case& one, std::size_t window_offset) {
    const std::size_t first = window_offset + one.offset_bytes;
    const std::size_t begin = first - std::min(first, kMargin);
    const std::size_t end = std::min(first + one.size_bytes + kMargin, mirror_.size());
    driver().call(symbol::memcpy_dtoh)(staging_, device_ + begin, end - begin);
    report_unless(std::equal(staging_, staging_ + (end - begin), mirror_at(begin)), one,
                  "the device does not have what was written");
  }

  void expect_read(const Window& window, const Case& one, std::size_t window_offset) {
    std::uint8_t* target = host_at(one);
    std::fill_n(target - kMargin, one.size_bytes + 2 * kMargin, kGuard);
    window.read(target, one.offset_bytes, one.size_bytes);
    const auto is_guard = [](std::uint8_t byte) { return byte == kGuard; };
    report_unless(
        std::equal(target, target + one.size_bytes, mirror_at(window_offset + one.offset_bytes)),
        one, "what was read is not what the device has");
    report_unless(std::all_of(target - kMargin, target, is_guard), one, "bytes before the target");
    report_unless(std::all_of(target + one.size_bytes, target + one.size_bytes + kMargin, is_guard),
                  one, "bytes after the target");
  }

  void send_by_driver(const Case& one, std::size_t window_offset) {
    std::copy_n(prepare(one, window_offset), one.size_bytes, staging_);
    driver().call(symbol::memcpy_htod)(device_ + window_offset + one.offset_bytes, staging_,
                                       one.size_bytes);
  }

  void expect_whole_buffer() {
    driver().call(symbol::memcpy_dtoh)(staging_, device_, mirror_.size());
    EXPECT_TRUE(std::equal(mirror_.begin(), mirror_.end(), staging_))
        << "seed " << seed_ << ": bytes far from every copy have changed";
  }

  /// Copies in every way, and checks each. Stops at the first error.
  void run(const Place& place, std::uint64_t num_cases, const WindowOptions& options = {}) {
    make_buffer(place.buffer_bytes);
    Window window = windows().open(device_ + place.offset_bytes, place.window_bytes, options);
    for (index_ = 0; index_ < num_cases && !HasFailure(); ++index_) {
      const Case one = next_case(place.window_bytes);
      switch (index_ % 4) {
        case 0:
          window.write(one.offset_bytes, prepare(one, place.offset_bytes), one.size_bytes);
          expect_on_device(one, place.offset_bytes);
          break;
        case 1:
          window.post(one.offset_bytes, prepare(one, place.offset_bytes), one.size_bytes);
          Window::fence();
          expect_on_device(one, place.offset_bytes);
          break;
        case 2:
          send_by_driver(one, place.offset_bytes);
          expect_read(window, one, place.offset_bytes);
          break;
        default:
          window.write(one.offset_bytes, prepare(one, place.offset_bytes), one.size_bytes);
          expect_read(window, one, place.offset_bytes);
      }
    }
    expect_whole_buffer();
  }

private:
  std::uint8_t* mirror_at(std::size_t offset) { return mirror_.data() + offset; }

  void report_unless(bool right, const Case& one, const char* what) {
    if (right) return;
    ADD_FAILURE() << what << ": case " << index_ << " of seed " << seed_ << ", " << one.size_bytes
                  << " bytes at " << one.offset_bytes << ", host offset " << one.host_offset_bytes;
  }

  std::uint64_t seed_ = 0;
  std::uint64_t index_ = 0;
  std::mt19937_64 random_;
  CUdeviceptr device_ = 0;
  std::uint8_t* staging_ = nullptr;
  Bytes host_;
  std::uintptr_t aligned_host_ = 0;
  Bytes mirror_;
  Bytes noise_;
};

std::uint64_t num_cases() { return number_from("ISTHMUS_WINDOW_CASES", kCases); }

TEST_F(RandomCopies, ThroughAWholeBufferAreAllRight) {
  run({.buffer_bytes = 2 * kMiB + 777, .offset_bytes = 0, .window_bytes = 2 * kMiB + 777},
      num_cases() * 4 / 10);
}

TEST_F(RandomCopies, ThroughAWindowThatBeginsAndEndsAnywhereAreAllRight) {
  run({.buffer_bytes = 300 * kKiB, .offset_bytes = 12345, .window_bytes = 250 * kKiB + 1},
      num_cases() * 3 / 10);
}

TEST_F(RandomCopies, ThroughAWindowOfAFewBytesAreAllRight) {
  run({.buffer_bytes = 9000, .offset_bytes = 4096 - 37, .window_bytes = 100}, num_cases() * 2 / 10);
}

TEST_F(RandomCopies, BySeveralThreadsAreAllRight) {
  run({.buffer_bytes = 3 * kMiB, .offset_bytes = 1, .window_bytes = 3 * kMiB - 2},
      num_cases() * 1 / 10, {.num_threads = 4});
}

}  // namespace
}  // namespace isthmus::window
