// Times of things that are compared: they take turns, so that a drift of the machine affects all of
// them alike.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace isthmus::measure {

/// How often each contestant takes its turn.
struct Turns {
  std::size_t min_turns = 5;   ///< of each, at least 1
  std::size_t max_turns = 15;  ///< at least `min_turns`
  double max_seconds = 0.1;    ///< for all together, once there are `min_turns`
  /// The time of one turn, in which short contestants run repeatedly. A copy's workers fell asleep
  /// during the others' turns (they spin for 20 us: host::kDefaultSpinTime): a turn is what a program
  /// measures that copies for this long after a pause, including the workers' wake-up.
  double turn_seconds = 100e-6;
  /// A contestant that takes this many times as long as the fastest is left out after a few runs.
  double hopeless = 4;
};

/// Runs something several times, and returns the seconds of one run.
using Contestant = std::function<double(std::size_t num_runs)>;

/// Times of one contestant.
struct Times {
  std::vector<double> seconds;  ///< for one run, in the order taken; only one if hopeless
  std::size_t runs_per_turn = 1;
};

/// Lets contestants take turns; each time another one begins. All should have run before.
///
/// Throws      UsageError for impossible turns; what a contestant throws.
std::vector<Times> take_turns(const std::vector<Contestant>& contestants, const Turns& turns);

}  // namespace isthmus::measure
