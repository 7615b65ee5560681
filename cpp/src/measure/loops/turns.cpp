#include "measure/loops/turns.hpp"

#include <algorithm>
#include <limits>

#include <isthmus/errors.hpp>

namespace isthmus::measure {
namespace {

/// Of so many runs an interrupt rarely hits all.
constexpr int kFirstRuns = 3;
/// What takes as long as so many turns is long.
constexpr double kLongTurns = 10;
/// No run is shorter: the clock's own cost.
constexpr double kMinSeconds = 10e-9;

void check(const Turns& turns) {
  const bool valid = turns.min_turns > 0 && turns.max_turns >= turns.min_turns &&
                     turns.max_seconds >= 0 && turns.turn_seconds >= 0 && turns.hopeless >= 1;
  if (!valid) throw UsageError("turns: needs 1 <= min_turns <= max_turns, times of at least 0");
}

/// The least of a few runs, and of a turn of short ones, in which threads have woken. Of long ones
/// there are two: one alone may have met an interrupt.
double seconds_of_one(const Contestant& contestant, const Turns& turns) {
  double least = std::numeric_limits<double>::infinity();
  double sum = 0;
  for (int run = 0; run < kFirstRuns && (run < 2 || sum <= kLongTurns * turns.turn_seconds);
       ++run) {
    const double seconds = std::max(contestant(1), kMinSeconds);
    least = std::min(least, seconds);
    sum += seconds;
  }
  if (least >= turns.turn_seconds) return least;
  const auto num_runs = static_cast<std::size_t>(turns.turn_seconds / least);
  return std::max(std::min(least, contestant(num_runs)), kMinSeconds);
}

/// Who takes turns, and how often.
struct Game {
  std::vector<std::size_t> players;  ///< indices of contestants
  std::size_t num_rounds = 0;
};

/// Without the hopeless, whose first time is all that is known of them.
Game prepare(std::vector<Times>& times, const Turns& turns) {
  Game game;
  double quickest = std::numeric_limits<double>::infinity();
  for (const Times& one : times) quickest = std::min(quickest, one.seconds.front());
  double round_seconds = kMinSeconds;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double seconds = times[i].seconds.front();
    if (seconds > turns.hopeless * quickest) continue;
    game.players.push_back(i);
    times[i].seconds.clear();
    times[i].runs_per_turn = static_cast<std::size_t>(std::max(1.0, turns.turn_seconds / seconds));
    round_seconds += seconds * static_cast<double>(times[i].runs_per_turn);
  }
  const double affordable = turns.max_seconds / round_seconds;
  game.num_rounds = static_cast<std::size_t>(std::clamp(
      affordable, static_cast<double>(turns.min_turns), static_cast<double>(turns.max_turns)));
  return game;
}

}  // namespace

std::vector<Times> take_turns(const std::vector<Contestant>& contestants, const Turns& turns) {
  check(turns);
  std::vector<Times> times(contestants.size());
  for (std::size_t i = 0; i < contestants.size(); ++i)
    times[i].seconds.push_back(seconds_of_one(contestants[i], turns));
  const auto [players, num_rounds] = prepare(times, turns);
  for (std::size_t turn = 0; turn < num_rounds * players.size(); ++turn) {
    const std::size_t round = turn / players.size();
    const std::size_t i = players[(round + turn) % players.size()];
    times[i].seconds.push_back(contestants[i](times[i].runs_per_turn));
  }
  return times;
}

}  // namespace isthmus::measure
