// A source of an upload that shows whether threads work on it at once.
#pragma once

#include <atomic>
#include <cstring>
#include <stdexcept>

#include "eventually.hpp"
#include "transfer/staging/slot_filler.hpp"

namespace isthmus::transfer {

/// Holds each piece until `num_expected` are held.
class MeetingPlace final : public SlotFiller {
public:
  explicit MeetingPlace(int num_expected) : num_expected_(num_expected) {}
  std::size_t fill(std::byte* slot, std::size_t /*offset_bytes*/,
                   std::size_t size_bytes) const override {
    ++num_here_;
    if (!isthmus::test::eventually([&] { return num_here_ >= num_expected_; }))
      throw std::runtime_error("alone");
    std::memset(slot, 1, size_bytes);
    return 0;
  }

private:
  int num_expected_;
  mutable std::atomic<int> num_here_{0};
};

}  // namespace isthmus::transfer
