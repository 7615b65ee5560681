// Carries out the ways of `isthmus advise`, by the calls that a C++ program makes, and times them.
//
//   advice_lives MAX_BYTES [PROFILE]
//
// Reads questions, one a line:
//
//   SECONDS SIZE_BYTES USES BUFFER UP_BYTES DOWN_BYTES WAY...
//
// and answers each with one line of JSON. BUFFER is "new", "pageable" or "pinned"; UP_BYTES and
// DOWN_BYTES cross the link at each use; WAY is a name as in life.cpp; SECONDS is about how long the
// question may take. PROFILE is a file of `isthmus profile`, by which copies choose their path. The
// device is the first one of $ISTHMUS_DRIVER.
//
// The ways take turns, and each round begins with another way. A turn is as many lives as fit into
// 100 us, at least one, after a kernel, as when a profile is measured: meanwhile the helper threads
// of the other ways have gone to sleep. After three rounds, ways that take twice as long as the
// fastest one don't play on. "samples_s" are the seconds of one life, turn by turn. In the end a few
// lives are timed part by part: these are longer by the clock's calls.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <vector>

#include "life.hpp"
#include "rounds.hpp"
#include "rows.hpp"

namespace {

constexpr double kTurnSeconds = 100e-6;
constexpr std::size_t kMinRounds = 3;
constexpr std::size_t kMaxRounds = 101;
constexpr double kLongSeconds = 10e-3;
constexpr double kShortestSeconds = 10e-9;
constexpr int kFirstLives = 5;
constexpr double kHopeless = 2;
constexpr std::size_t kLivesInParts = 5;

/// One way, and what its turns took.
struct Player {
  Way way = Way::pageable;
  std::size_t lives_a_turn = 1;
  std::vector<double> seconds;
};

double turn(Machine& machine, const Question& question, const Player& player) {
  machine.run_kernel();
  return seconds_of([&] { machine.live(question, player.way); }, player.lives_a_turn);
}

/// The fastest of a few lives says how many fit into a turn.
Player player_of(Machine& machine, const Question& question, Way way) {
  Player player{.way = way, .lives_a_turn = 1, .seconds = {}};
  double least = turn(machine, question, player);
  for (int i = 0; i < kFirstLives && least < kLongSeconds; ++i)
    least = std::min(least, turn(machine, question, player));
  const double fitting = kTurnSeconds / std::max(least, kShortestSeconds);
  player.lives_a_turn = std::max<std::size_t>(1, static_cast<std::size_t>(fitting));
  return player;
}

double fastest_of(const std::vector<Player>& players) {
  double least = std::numeric_limits<double>::infinity();
  for (const Player& player : players)
    if (!player.seconds.empty()) least = std::min(least, median(player.seconds));
  return least;
}

void play(Machine& machine, const Question& question, double seconds,
          std::vector<Player>& players) {
  const auto start = std::chrono::steady_clock::now();
  const auto spent = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (std::size_t round = 0; round < kMaxRounds; ++round) {
    if (round >= kMinRounds && spent() > seconds) return;
    // Nobody has a time before the first round.
    const double hopeless = kHopeless * fastest_of(players);
    for (std::size_t i = 0; i < players.size(); ++i) {
      Player& player = players[(round + i) % players.size()];
      if (round < kMinRounds || median(player.seconds) <= hopeless)
        player.seconds.push_back(turn(machine, question, player));
    }
  }
}

Row parts_of(Machine& machine, const Question& question, const Player& player) {
  std::vector<double> prepare, first, others, release;
  for (std::size_t i = 0; i < (median(player.seconds) < kLongSeconds ? kLivesInParts : 1); ++i) {
    Parts parts;
    machine.live(question, player.way, &parts);
    prepare.push_back(parts.prepare);
    first.push_back(parts.first);
    others.push_back(parts.others);
    release.push_back(parts.release);
  }
  return Row()
      .add("prepare_s", median(prepare))
      .add("first_use_s", median(first))
      .add("other_uses_s", median(others))
      .add("release_s", median(release));
}

std::string list_of(const std::vector<double>& numbers) {
  std::ostringstream text;
  text << std::setprecision(6);
  for (const double number : numbers) text << (text.tellp() == 0 ? "" : ", ") << number;
  return '[' + text.str() + ']';
}

Row answer(Machine& machine, std::istringstream words) {
  Question question;
  double seconds = 0;
  words >> seconds >> question.size_bytes >> question.uses >> question.buffer >>
      question.up_bytes >> question.down_bytes;
  std::vector<Way> ways;
  for (std::string name; words >> name;) ways.push_back(way_named(name));
  if (ways.empty() || question.size_bytes == 0 || question.uses == 0)
    throw std::invalid_argument(
        "a question is: SECONDS SIZE_BYTES USES BUFFER UP_BYTES DOWN_BYTES WAY...");
  machine.prepare(question);
  std::vector<Player> players;
  players.reserve(ways.size());
  for (const Way way : ways) players.push_back(player_of(machine, question, way));
  play(machine, question, seconds, players);
  Row row;
  for (const Player& player : players)
    row.raw(std::string(name_of(player.way)),
            Row()
                .raw("samples_s", list_of(player.seconds))
                .add("lives_a_turn", player.lives_a_turn)
                .raw("parts", parts_of(machine, question, player).text())
                .text());
  return row;
}

std::string text_of(const char* path) {
  const std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(std::string("can't read ") + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3)
    throw std::invalid_argument("usage: advice_lives MAX_BYTES [PROFILE] < QUESTIONS");
  Machine machine(std::stoull(argv[1]), argc > 2 ? text_of(argv[2]) : "");
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(machine, std::istringstream(line)).text() << '\n' << std::flush;
  return std::cout ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
