// The paths to all devices of a driver.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/driver.hpp"
#include "transfer/copy/device_paths.hpp"
#include "transfer/copy/window_cache.hpp"

namespace isthmus::transfer {

/// Each device's DevicePaths are made on first use. May be used from any thread.
class Devices {
public:
  Devices(const Driver& driver, const WindowCache& windows);

  /// Cheap once it has been made.
  DevicePaths& at(int device) {
    DevicePaths* const found =
        made_.at(static_cast<std::size_t>(device)).load(std::memory_order_acquire);
    return found != nullptr ? *found : make(device);
  }
  void trim();
  /// In a forked child: the threads don't exist, and the locks may be held for ever.
  void forget() noexcept;

private:
  DevicePaths& make(int device);

  const Driver& driver_;
  const WindowCache& windows_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DevicePaths>> owned_;
  std::vector<std::atomic<DevicePaths*>> made_;
};

}  // namespace isthmus::transfer
