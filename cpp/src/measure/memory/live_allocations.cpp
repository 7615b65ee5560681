#include "measure/memory/live_allocations.hpp"

#include <string>

#include "measure/loops/failures.hpp"

namespace isthmus::measure {
namespace {

/// A word that is unlikely to be there by chance, and different for each slot.
std::uint32_t word_for(std::size_t slot) {
  return 0x5eed0001U + static_cast<std::uint32_t>(slot) * 0x9e3779b9U;
}

std::string number(std::size_t slot) { return "allocation " + std::to_string(slot); }

}  // namespace

LiveAllocations::~LiveAllocations() {
  for (std::size_t slot = 0; slot < live_.size(); ++slot) {
    if (live_[slot] == 0) continue;
    try {
      allocator_.free(slot);
    } catch (...) {
      // An exception is already in flight, and names the first failure.
      continue;
    }
  }
}

void LiveAllocations::allocate(std::size_t slot) {
  allocator_.allocate(slot);
  if (!allocator_.is_there(slot)) {
    throw CorruptTransfer("verification failed: " + number(slot) +
                          " was granted, and there is no memory");
  }
  live_[slot] = 1;
}

void LiveAllocations::free(std::size_t slot) {
  live_[slot] = 0;
  allocator_.free(slot);
}

void LiveAllocations::verify_words() {
  for (std::size_t slot = 0; slot < live_.size(); ++slot) allocator_.write(slot, word_for(slot));
  for (std::size_t slot = 0; slot < live_.size(); ++slot) {
    if (allocator_.holds(slot, word_for(slot))) continue;
    throw CorruptTransfer("verification failed: " + number(slot) + " of " +
                          std::to_string(live_.size()) +
                          " that are alive doesn't hold what was written to its ends");
  }
}

void LiveAllocations::verify_free(std::size_t slot) {
  const auto before = allocator_.identity(slot);
  free(slot);
  if (before && allocator_.known(*before)) {
    throw CorruptTransfer("verification failed: " + number(slot) +
                          " was freed, and the driver still knows it");
  }
}

void LiveAllocations::verify() {
  for (std::size_t slot = 0; slot < live_.size(); ++slot) {
    allocator_.make_ready(slot);
    allocate(slot);
  }
  allocator_.finish();
  verify_words();
  for (std::size_t slot = 0; slot < live_.size(); ++slot) verify_free(slot);
  allocator_.finish();
}

}  // namespace isthmus::measure
