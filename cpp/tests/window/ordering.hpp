// What tests of ordering share: kernels that write and check patterns, and enough rounds to detect
// an error.
#pragma once

#include <cstdint>
#include <optional>

#include "device/test_driver.hpp"
#include "host/memory/pattern.hpp"
#include "window/windows_under_test.hpp"

namespace isthmus::window {

inline constexpr unsigned kRounds = 200;

class Ordering : public WindowsUnderTest {
protected:
  void SetUp() override {
    WindowsUnderTest::SetUp();
    if (IsSkipped()) return;
    work_ = stream();
    num_mismatches_ = device_memory(8);
    if (driver().emulated()) own_kernels_.emplace(Context::retain(driver(), 0), Kernels::Options{});
  }
  void TearDown() override {
    own_kernels_.reset();
    WindowsUnderTest::TearDown();
  }

  /// Compiled once on a real device, where that takes time. Kernels on the emulated device keep no
  /// context alive.
  const Kernels& kernels() const { return own_kernels_ ? *own_kernels_ : test::kernels(); }

  CUstream work() const { return work_; }

  static Bytes patterned(std::size_t size_bytes, std::uint64_t seed) {
    Bytes bytes(size_bytes);
    host::fill_pattern(reinterpret_cast<std::byte*>(bytes.data()), size_bytes, seed);
    return bytes;
  }
  static bool has_pattern(const Bytes& bytes, std::uint64_t seed) {
    return host::count_pattern_mismatches(reinterpret_cast<const std::byte*>(bytes.data()),
                                          bytes.size(), seed) == 0;
  }

  void launch_fill(CUdeviceptr target, std::size_t size_bytes, std::uint64_t seed, CUstream where) {
    kernels()
        .get("pattern", "isthmus_pattern_fill")
        .launch(where, 16, 256, target, std::uint64_t{size_bytes}, seed);
  }
  /// The mismatches that a kernel launched now finds in the pattern.
  std::uint64_t mismatches_of_a_kernel(CUdeviceptr source, std::size_t size_bytes,
                                       std::uint64_t seed) {
    const CUdeviceptr count = num_mismatches_;
    kernels()
        .get("pattern", "isthmus_pattern_check")
        .launch(work_, 16, 256, source, std::uint64_t{size_bytes}, seed, count);
    std::uint64_t found = 0;
    synchronize(work_);
    driver().call(symbol::memcpy_dtoh)(&found, count, sizeof found);
    return found;
  }
  void clear_mismatches() {
    driver().call(symbol::memset_d32_async)(num_mismatches_, 0u, std::size_t{2}, work_);
    synchronize(work_);
  }

private:
  std::optional<Kernels> own_kernels_;
  CUstream work_ = nullptr;
  CUdeviceptr num_mismatches_ = 0;
};

}  // namespace isthmus::window
