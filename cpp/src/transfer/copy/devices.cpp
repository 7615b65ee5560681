#include "transfer/copy/devices.hpp"

#include <algorithm>

namespace isthmus::transfer {

Devices::Devices(const Driver& driver, const WindowCache& windows)
    : driver_(driver),
      windows_(windows),
      made_(static_cast<std::size_t>(std::max(driver.device_count(), 1))) {}

DevicePaths& Devices::make(int device) {
  auto& slot = made_.at(static_cast<std::size_t>(device));
  const std::lock_guard lock(mutex_);
  if (DevicePaths* const found = slot.load(std::memory_order_acquire)) return *found;
  owned_.push_back(std::make_unique<DevicePaths>(driver_, device, windows_));
  slot.store(owned_.back().get(), std::memory_order_release);
  return *owned_.back();
}

void Devices::trim() {
  const std::lock_guard lock(mutex_);
  for (auto& paths : owned_) paths->trim();
}

void Devices::forget() noexcept {
  for (auto& paths : owned_) {
    [[maybe_unused]] const DevicePaths* const forgotten = paths.release();
  }
}

}  // namespace isthmus::transfer
