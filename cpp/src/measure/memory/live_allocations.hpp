// Allocations that don't outlive an error.
#pragma once

#include <vector>

#include "measure/memory/allocators.hpp"

namespace isthmus::measure {

/// Allocates through an allocator, checks that something came of it, and frees what is left when it
/// goes. The caller holds a CurrentContext.
class LiveAllocations {
public:
  LiveAllocations(Allocator& allocator, std::size_t num_slots)
      : allocator_(allocator), live_(num_slots, false) {}
  ~LiveAllocations();
  LiveAllocations(const LiveAllocations&) = delete;
  LiveAllocations& operator=(const LiveAllocations&) = delete;

  /// Throws CorruptTransfer if the call succeeded and brought nothing, and what the allocator
  /// throws.
  void allocate(std::size_t slot);
  void free(std::size_t slot);

  /// Has all slots at a time, each with words of its own at both ends, then frees them.
  ///
  /// Throws      CorruptTransfer if one doesn't keep its words, or is known after its free.
  void verify();

private:
  void verify_words();
  void verify_free(std::size_t slot);

  Allocator& allocator_;
  std::vector<char> live_;
};

}  // namespace isthmus::measure
