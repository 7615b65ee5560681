// Allocations that are freed if an error is thrown.
#pragma once

#include <vector>

#include "measure/memory/allocators.hpp"

namespace isthmus::measure {

/// Allocates through an allocator, checks that each call brought memory, and frees the rest when it
/// is destroyed. The caller holds a CurrentContext.
class LiveAllocations {
public:
  LiveAllocations(Allocator& allocator, std::size_t num_slots)
      : allocator_(allocator), live_(num_slots, false) {}
  ~LiveAllocations();
  LiveAllocations(const LiveAllocations&) = delete;
  LiveAllocations& operator=(const LiveAllocations&) = delete;

  /// Throws CorruptTransfer if the call succeeded without memory, and what the allocator throws.
  void allocate(std::size_t slot);
  void free(std::size_t slot);

  /// Allocates all slots at once, writes words of their own to both ends, and frees them.
  ///
  /// Throws      CorruptTransfer if one doesn't hold its words, or is known after its free.
  void verify();

private:
  void verify_words();
  void verify_free(std::size_t slot);

  Allocator& allocator_;
  std::vector<char> live_;
};

}  // namespace isthmus::measure
