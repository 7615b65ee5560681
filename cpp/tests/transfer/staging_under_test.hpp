// Staging rings on the driver that ISTHMUS_DRIVER names, and memory on both sides of their copies
// that detects writes beyond the target.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "contract/machine_under_test.hpp"
#include "device/context.hpp"
#include "eventually.hpp"
#include "messages.hpp"
#include "transfer/staging/staging_ring.hpp"

namespace isthmus::transfer {

using contract::Bytes;
using contract::kKiB;
using contract::kMiB;
using isthmus::test::eventually;
using isthmus::test::message_of;
using isthmus::test::says;

/// Settings for fast copies of many pieces.
inline RingSettings small_settings(int num_threads) {
  RingSettings settings;
  settings.num_threads = num_threads;
  settings.slot_bytes = 64 * kKiB;
  settings.first_bytes = 4 * kKiB;
  settings.min_part_bytes = 4 * kKiB;
  settings.max_part_bytes = 8 * kKiB;
  settings.filler_bytes = 16 * kKiB;
  settings.min_long_bytes = 256 * kKiB;
  settings.beyond_cores = true;
  return settings;
}

/// A test with a current context. Declare rings in the test: they must be destroyed before the
/// context.
class StagingUnderTest : public contract::MachineUnderTest {
protected:
  static constexpr std::uint8_t kGuard = 0xA5;
  static constexpr std::size_t kGuardBytes = 256;

  Context retained() { return Context::retain(driver(), 0); }

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
