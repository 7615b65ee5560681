// A simulation that can't continue.
#pragma once

#include <stdexcept>

namespace isthmus::sim {

/// No events are left, and warps still wait: this configuration can't finish this program. The
/// message says which warps wait, for what, and what that waits for.
class Deadlock : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

}  // namespace isthmus::sim
