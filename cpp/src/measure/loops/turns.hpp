// Times of things that are compared with each other: they take turns, so that what drifts drifts
// for all.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace isthmus::measure {

/// How often each takes its turn.
struct Turns {
  std::size_t min_turns = 5;   ///< of each, at least 1
  std::size_t max_turns = 15;  ///< at least `min_turns`
  double max_seconds = 0.1;    ///< of all together, once there are `min_turns`
  /// Of one turn, in which short things run again and again. The helper threads of a copy have gone
  /// to sleep while others had their turns (they wait 50 us for more work: copy_threads.hpp): a
  /// turn is what a program sees that copies for as long after a pause, waking included.
  double turn_seconds = 100e-6;
  /// What takes so many times as long as the quickest is left out, after it has run a few times.
  double hopeless = 4;
};

/// Runs something several times, and tells the seconds of one run.
using Contestant = std::function<double(std::size_t num_runs)>;

/// Of one contestant.
struct Times {
  std::vector<double> seconds;  ///< of one run, in the order taken; of what is hopeless only one
  std::size_t runs_per_turn = 1;
};

/// Lets contestants take turns, another one first each time. All should have run before.
///
/// Throws      UsageError for turns that can't be; what a contestant throws.
std::vector<Times> take_turns(const std::vector<Contestant>& contestants, const Turns& turns);

}  // namespace isthmus::measure
