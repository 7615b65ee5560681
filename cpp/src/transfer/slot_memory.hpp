// Pinned memory that lanes share the ownership of.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "transfer/pinned_region.hpp"

namespace isthmus::transfer {

/// A part of pinned memory, which stays pinned while any part is owned.
class SlotMemory {
public:
  SlotMemory(std::shared_ptr<const PinnedRegion> pinned, std::size_t offset_bytes) noexcept
      : pinned_(std::move(pinned)), offset_bytes_(offset_bytes) {}

  std::byte* data() const noexcept { return pinned_->data() + offset_bytes_; }

private:
  std::shared_ptr<const PinnedRegion> pinned_;
  std::size_t offset_bytes_;
};

}  // namespace isthmus::transfer
