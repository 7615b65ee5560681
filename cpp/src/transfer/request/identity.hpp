// Who has noted something for a thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace isthmus::transfer {

/// A number that no other object has had in this process; not 0. Unlike an address it isn't given out
/// again, so what a thread keeps of an object that is gone is never taken for another one's.
inline std::uint64_t new_identity() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace isthmus::transfer
