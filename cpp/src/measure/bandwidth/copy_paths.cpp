#include "measure/bandwidth/copy_paths.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>
#include <utility>

#include <isthmus/errors.hpp>

#include "host/cpu/backoff.hpp"
#include "measure/loops/sampling.hpp"

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

namespace {

/// The driver sets so many bytes by a kernel; after 256 bytes, streams still answered sooner.
constexpr std::size_t kSetBytes = std::size_t{64} << 10U;

using transfer::kAllPaths;
using transfer::Profile;
using transfer::RingThreads;

// More threads haven't increased bandwidth on any link so far. Source:
// benchmarks/transfer/h200/staging_threads.json.
constexpr int kMaxRingThreads = 16;
constexpr int kRingThreadsStep = 2;
constexpr std::size_t kComparedInTheEnd = std::size_t{4} << 20U;
constexpr double kCheap = 1e-9;
constexpr double kDear = 1;
constexpr double kMaxPauseSeconds = 1;

void pause(double seconds, bool sleeps) {
  const auto pause = std::chrono::duration<double>(seconds);
  if (sleeps) return std::this_thread::sleep_for(pause);
  const auto end = Clock::now() + pause;
  while (Clock::now() < end) host::pause_briefly();
}

/// After a pause a turn is a single copy: only that one comes after it.
Turns turns_of(const CopyPathsOptions& options) {
  if (!(options.pause_seconds >= 0) || options.pause_seconds > kMaxPauseSeconds)
    throw UsageError("a pause of " + std::to_string(options.pause_seconds) +
                     " s was asked for; it must be from 0 to " +
                     std::to_string(std::lround(kMaxPauseSeconds)) + " s");
  Turns turns = options.turns;
  if (options.pause_seconds > 0) turns.turn_seconds = 0;
  return turns;
}

/// A profile that makes copies take this path where possible, and the driver's otherwise.
std::shared_ptr<const Profile> profile_for(CopyPath path, const RingThreads& threads) {
  using transfer::CostCurve;
  std::vector<Profile::Entry> entries;
  for (const auto direction :
       {transfer::Direction::host_to_device, transfer::Direction::device_to_host}) {
    for (const MemoryKind kind : {MemoryKind::pageable, MemoryKind::pinned}) {
      entries.push_back({CopyPath::driver, direction, kind, CostCurve({{1, kDear}})});
      if (path != CopyPath::driver)
        entries.push_back({path, direction, kind, CostCurve({{1, kCheap}})});
    }
  }
  return std::make_shared<const Profile>(
      Profile(std::move(entries), true, "the way that is measured").with_ring_threads(threads));
}

}  // namespace

AfterKernels::AfterKernels(const Context& context)
    : memory_(context, kSetBytes), stream_(context) {}

void AfterKernels::run() const {
  const Context& context = stream_.context();
  const CurrentContext current(context);
  context.driver().call(symbol::memset_d8_async)(memory_.pointer(), std::uint8_t{0}, kSetBytes,
                                                 stream_.handle());
  stream_.synchronize();
}

/// A copy between the two buffers.
class CopyPaths::Crossing {
public:
  Crossing(transfer::Engine& engine, const CopyBuffers& buffers, Direction the_direction,
           std::size_t the_size_bytes)
      : direction(the_direction), size_bytes(the_size_bytes), engine_(engine) {
    // A device address is a number to the driver and a pointer to copy().
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto* const device = reinterpret_cast<void*>(buffers.device());
    const bool up = direction == Direction::host_to_device;
    target_ = up ? device : buffers.host();
    source_ = up ? buffers.host() : device;
  }

  /// path        "": the one the engine chooses
  double seconds_of(std::size_t num_copies, std::string_view path) const {
    CopyOptions options;
    options.path = path;
    const auto start = Clock::now();
    for (std::size_t i = 0; i < num_copies; ++i)
      engine_.copy(target_, source_, size_bytes, options);
    return seconds_since(start) / static_cast<double>(num_copies);
  }

  const Direction direction;
  const std::size_t size_bytes;

private:
  transfer::Engine& engine_;
  void* target_ = nullptr;
  const void* source_ = nullptr;
};

CopyPaths::CopyPaths(const Context& context)
    : context_(context),
      after_kernels_(context),
      engine_(std::make_unique<transfer::Engine>(Windows(context.driver()))) {
  use_ring_threads({});
}

void CopyPaths::use_ring_threads(const RingThreads& threads) {
  for (const CopyPath path : kAllPaths)
    profiles_[static_cast<std::size_t>(path)] = profile_for(path, threads);
}

void CopyPaths::copy_verified(CopyBuffers& buffers, const Crossing& crossing, CopyPath path) {
  buffers.poison(crossing.direction, crossing.size_bytes);
  crossing.seconds_of(1, name_of(path));
  buffers.verify(crossing.direction, crossing.size_bytes, nullptr);
}

/// copy_verified() compares whole copies. Here only the end is compared: a whole long copy would
/// take as long as its turns.
void CopyPaths::verify_end(CopyBuffers& buffers, const Crossing& crossing) {
  buffers.verify(crossing.direction, std::min(crossing.size_bytes, kComparedInTheEnd), nullptr);
}

Contestant CopyPaths::contestant(const Crossing& crossing, CopyPath path, double pause_seconds) {
  return [this, &crossing, path, pause_seconds, sleeps = false](std::size_t num_copies) mutable {
    after_kernels_.run();
    if (pause_seconds > 0) pause(pause_seconds, sleeps = !sleeps);
    // This path is taken only when it is named.
    if (path == CopyPath::registered) return crossing.seconds_of(num_copies, name_of(path));
    ways().use(profiles_[static_cast<std::size_t>(path)]);
    return crossing.seconds_of(num_copies, "");
  };
}

std::vector<PathTimes> CopyPaths::measure(CopyBuffers& buffers, const CopyPathsOptions& options) {
  buffers.check_size(options.size_bytes);
  const Turns turns = turns_of(options);
  buffers.prepare(nullptr);
  const CurrentContext current(context_);
  const Crossing crossing(*engine_, buffers, options.direction, options.size_bytes);
  std::vector<PathTimes> found;
  std::vector<Contestant> contestants;
  for (const CopyPath path : options.paths) {
    found.push_back({path, {}, ""});
    try {
      ways().use(profiles_[static_cast<std::size_t>(path)]);
      copy_verified(buffers, crossing, path);
      contestants.push_back(contestant(crossing, path, options.pause_seconds));
    } catch (const Unavailable& absence) {
      found.back().absence = absence.reason();
    }
  }
  std::vector<Times> times = take_turns(contestants, turns);
  auto next = times.begin();
  for (PathTimes& one : found)
    if (one.absence.empty()) one.times = std::move(*next++);
  if (!contestants.empty()) verify_end(buffers, crossing);
  return found;
}

std::vector<RingTimes> CopyPaths::measure_ring(CopyBuffers& buffers, Direction direction,
                                               std::size_t size_bytes, const Turns& turns) {
  buffers.check_size(size_bytes);
  transfer::StagingRing& ring = ways().ring();
  std::vector<RingTimes> found;
  for (const int count : ring_thread_counts(ring.max_threads_of(size_bytes)))
    found.push_back({count, {}});
  if (found.size() == 1) return found;
  buffers.prepare(nullptr);
  const CurrentContext current(context_);
  const Crossing crossing(*engine_, buffers, direction, size_bytes);
  copy_verified(buffers, crossing, CopyPath::staged);
  std::vector<Contestant> contestants;
  contestants.reserve(found.size());
  for (const RingTimes& one : found) {
    contestants.push_back(
        [this, &ring, &crossing, count = one.num_threads](std::size_t num_copies) {
          after_kernels_.run();
          ring.use_threads({count, count});
          return crossing.seconds_of(num_copies, name_of(CopyPath::staged));
        });
  }
  std::vector<Times> times = take_turns(contestants, turns);
  for (std::size_t i = 0; i < found.size(); ++i) found[i].times = std::move(times[i]);
  verify_end(buffers, crossing);
  return found;
}

std::vector<int> ring_thread_counts(int max_threads) {
  const int most = std::clamp(max_threads, 1, kMaxRingThreads);
  if (most == 1) return {1};
  std::vector<int> counts{1};
  for (int count = kRingThreadsStep; count < most; count += kRingThreadsStep)
    counts.push_back(count);
  counts.push_back(most);
  return counts;
}

}  // namespace isthmus::measure
