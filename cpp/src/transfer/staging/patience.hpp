// Waiting for something that is usually near.
#pragma once

#include <chrono>

namespace isthmus::transfer {

/// The pauses of one wait: first short ones, then a place in the scheduler's queue, and sleep once
/// it takes longer than a copy's own pieces ever do: the caller's stream may hold back a copy for
/// seconds, and threads that spin for that long would take the cores from the program.
class Patience {
public:
  void pause() noexcept;

private:
  int num_pauses_ = 0;
  std::chrono::steady_clock::time_point spins_until_;
};

}  // namespace isthmus::transfer
