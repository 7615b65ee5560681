#include "measure/loops/turns.hpp"

#include <algorithm>
#include <limits>

#include <isthmus/errors.hpp>

namespace isthmus::measure {
namespace {

/// With this many runs, an interrupt rarely affects all of them.
constexpr int kFirstRuns = 3;
/// A contestant is long if it takes as long as this many turns.
constexpr double kLongTurns = 10;
/// The shortest run: what reading the clock costs.
constexpr double kMinSeconds = 10e-9;

void check(const Turns& turns) {
  const bool valid = turns.min_turns > 0 && turns.max_turns >= turns.min_turns &&
                     turns.max_seconds >= 0 && turns.turn_seconds >= 0 && turns.hopeless >= 1;
  if (!valid) throw UsageError("turns: needs 1 <= min_turns <= max_turns, times of at least 0");
}

/// The fastest of a few runs and, for a short contestant, of a turn of runs, in which threads are
/// awake. A long one runs twice: a single run may have met an interrupt.
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

/// Leaves out hopeless contestants, of which only the first time is known.
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
