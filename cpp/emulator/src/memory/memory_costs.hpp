// The modelled time of pinning, registering and allocating memory.
#pragma once

#include <cstddef>

#include "machine/profiles.hpp"

namespace isthmus::emulator {

/// Makes a call take its modelled time, counted from the object's construction. What this machine's
/// own kernel takes for the call is part of that time, unless it is longer.
class MemoryCall {
public:
  /// Waits for the rest of the time. Not to be called with the machine locked.
  void take(const MemoryCost& cost, std::size_t size_bytes, Duration more = kNoTime) const;

private:
  Time begin_ = Clock::now();
};

}  // namespace isthmus::emulator
