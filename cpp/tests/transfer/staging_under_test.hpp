// Staging rings on the driver that ISTHMUS_DRIVER names, and memory on both sides of their copies
// in which a byte too far is noticed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "contract/machine_under_test.hpp"
#include "device/context.hpp"
#include "transfer/staging_ring.hpp"

namespace isthmus::transfer {

using contract::kKiB;
using contract::kMiB;
using Bytes = std::vector<std::uint8_t>;

/// The message of the `Error` that `action` throws; "" if it throws none.
template <typename Error, typename Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline bool says(const std::string& message, const std::string& part) {
  return message.find(part) != std::string::npos;
}

/// Waits for what another thread does; false if it takes longer than any test should.
template <typename Condition>
bool eventually(Condition holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// Settings for copies of many pieces that take no time.
inline RingSettings small_settings(int num_threads) {
  RingSettings settings;
  settings.num_threads = num_threads;
  settings.slot_bytes = 64 * kKiB;
  settings.first_bytes = 4 * kKiB;
  settings.least_part_bytes = 4 * kKiB;
  settings.most_part_bytes = 8 * kKiB;
  settings.filler_bytes = 16 * kKiB;
  settings.least_streamed_bytes = 16 * kKiB;
  settings.beyond_cores = true;
  return settings;
}

/// A test with a current context. Declare rings in the test: they have to go before the context.
class StagingUnderTest : public contract::MachineUnderTest {
protected:
  /// Emulated contexts cost nothing to make, and other tests of this program need none to be alive
  /// when they change the emulated machine.
  static void SetUpTestSuite() {
    if (!driver().emulated()) MachineUnderTest::SetUpTestSuite();
  }

  static constexpr std::uint8_t kGuard = 0xA5;
  static constexpr std::size_t kGuardBytes = 256;

  Context retained() { return Context::retain(driver(), 0); }

  Bytes on_device(CUdeviceptr address, std::size_t size_bytes) {
    Bytes bytes(size_bytes);
    driver().call(symbol::memcpy_dtoh)(bytes.data(), address, size_bytes);
    return bytes;
  }
  void send_to_device(CUdeviceptr address, const Bytes& bytes) {
    driver().call(symbol::memcpy_htod)(address, bytes.data(), bytes.size());
    driver().call(symbol::ctx_synchronize)();
  }
  void fill(CUdeviceptr address, std::size_t size_bytes, std::uint8_t value) {
    driver().call(symbol::memset_d8_async)(address, value, size_bytes, nullptr);
    synchronize(nullptr);
  }

  static const std::byte* bytes_of(const Bytes& bytes) {
    return reinterpret_cast<const std::byte*>(bytes.data());
  }
  static std::byte* bytes_of(Bytes& bytes) { return reinterpret_cast<std::byte*>(bytes.data()); }

  static bool all_are(const Bytes& bytes, std::size_t begin, std::size_t end, std::uint8_t value) {
    return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                       bytes.begin() + static_cast<std::ptrdiff_t>(end),
                       [=](std::uint8_t byte) { return byte == value; });
  }
};

}  // namespace isthmus::transfer
