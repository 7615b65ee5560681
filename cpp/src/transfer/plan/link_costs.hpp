// What the link takes for pinned memory.
#pragma once

#include <algorithm>
#include <cstddef>

#include "transfer/plan/device_paths.hpp"

namespace isthmus::transfer {

struct LinkCosts {
  LinkCosts(const DevicePaths& device, Direction direction) {
    const std::size_t long_bytes = std::size_t{64} << 20U;  // only the link's speed counts
    shortest = device.seconds(CopyPath::driver, {direction, MemoryKind::pinned, 1});
    const double whole =
        device.seconds(CopyPath::driver, {direction, MemoryKind::pinned, long_bytes});
    per_byte = std::max(0.0, whole - shortest) / static_cast<double>(long_bytes);
  }
  double of(std::size_t size_bytes) const { return per_byte * static_cast<double>(size_bytes); }

  double shortest = 0;
  double per_byte = 0;
};

}  // namespace isthmus::transfer
