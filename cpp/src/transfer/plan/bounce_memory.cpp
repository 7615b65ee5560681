#include "transfer/plan/bounce_memory.hpp"

#include <exception>
#include <utility>

namespace isthmus::transfer {

void BounceMemory::Hold::leave() noexcept {
  memory_->region_->leave();
  memory_->region_.reset();
  memory_ = nullptr;
}

BounceMemory::Hold BounceMemory::hold() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || given_up_) return {};
  try {
    if (region_ == nullptr) region_ = std::make_unique<PinnedRegion>(context_, kBytes);
  } catch (const std::exception&) {  // the copy does without
    given_up_ = true;
    return {};
  }
  return {*this, std::move(lock)};
}

void BounceMemory::trim() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  region_.reset();
  given_up_ = false;
}

}  // namespace isthmus::transfer
