// A run that can't go on.
#pragma once

#include <stdexcept>

namespace isthmus::sim {

/// Nothing is left to happen, and warps still wait: the configuration can't finish this program.
/// The message says who waits for what, and what that waits for.
class Deadlock : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

}  // namespace isthmus::sim
