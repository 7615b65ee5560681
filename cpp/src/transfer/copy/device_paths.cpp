#include "transfer/copy/device_paths.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "host/cpu/cores.hpp"

namespace isthmus::transfer {
namespace {

// A copy's window maps at most 16 MiB; above that the driver and the ring are much faster anyway
// (benchmarks/windows).
constexpr std::size_t kMaxWindowBytes = std::size_t{16} << 20U;
constexpr std::size_t kSmallestStep = 64;
// Less than beginning a copy by the driver and waiting for it takes: 8.5 us at least for 64 bytes down
// from Python on an H200. Source: benchmarks/frontdoor/h200/calls.json.
constexpr double kBeginningSeconds = 5e-6;
// A path may take this many times the CPU time of the driver's copy, whose thread spins until the end.
constexpr double kMaxCpuTimes = 2;

// Windows that several threads share back to back are taken without a choice after a pause only if the
// driver's copy takes so many times as long: on two H100s 64 to 256 KiB up from pinned memory took up
// to 1.2 of cudaMemcpy's time where the profile said 0.8 to 0.9 for one thread (not kept). Threads that
// must wake count 1.3 times anyway: see margin_of().
constexpr double kClearly = 1.25;

// A single copy moves a path's share of its pause costs by a quarter of the way, so that two or
// three tell the program's rhythm. One that was interrupted doesn't count for more than kMaxShare.
constexpr float kLearned = 0.25F;
constexpr float kMaxShare = 3;
// The shares of paths that aren't taken follow that of the one that is: what a program's pauses cost
// depends most on the program and the host. So a path that was slow once where others weren't is tried
// again some time, and none is taken only because nothing was learned of it.
constexpr float kFollowed = 1.0F / 64;
// Where a pause costs less than this, its share is too uncertain for others: these return to 1 then.
constexpr double kLeastFollowedSeconds = 10e-6;
// Where a pause costs less than this, copies tell nothing about it.
constexpr double kLeastPauseSeconds = 1e-6;

// The same copy after a pause takes up to twice as long some minutes later (benchmarks/rhythms). The
// driver's copy is tried if the profile, or what was learned, says that it takes kMaxTriedTimes the
// best path's time at most: then one copy in kTriedEvery goes by it. In the long run that costs 0.04
// of their time if the lower of both is right, and 0.13 if the driver takes three times as long.
constexpr double kMaxTriedTimes = 1.6;
constexpr unsigned kTriedEvery = 16;
constexpr float kLearnedByTry = 0.5F;
// A copy is slow for other reasons than its path, too: an interruption, memory without pages. So one
// that is quicker than was thought counts for more.
constexpr float kLearnedByQuickTry = 0.75F;

/// Where pauses cost nothing, as on the emulated link, they make nothing uncertain either.
double counted_seconds(CopyPath path, double seconds, double pause_seconds) {
  return seconds * margin_of(path, pause_seconds > 0);
}

float learned_of(bool is_try, bool is_quick) {
  if (!is_try) return kLearned;
  return is_quick ? kLearnedByQuickTry : kLearnedByTry;
}

/// A thread reads through a window at one rate, so the time that one thread takes is the CPU time that
/// several take together.
bool takes_much_cpu(CopyPath path, const Crossing& crossing, const Profile& profile) {
  if (path != CopyPath::window_threads || crossing.direction != Direction::device_to_host)
    return false;
  const auto curve = [&](CopyPath of) {
    return profile.curve(of, crossing.direction, crossing.host_kind);
  };
  const CostCurve* const alone = curve(CopyPath::window);
  const CostCurve* const driver = curve(CopyPath::driver);
  return alone != nullptr && driver != nullptr &&
         alone->seconds(crossing.size_bytes) > kMaxCpuTimes * driver->seconds(crossing.size_bytes);
}

/// "counted 1.03 times: ..."; empty for the driver's copy.
std::string text_of_margin(CopyPath path) {
  const int hundredths = static_cast<int>(std::lround(margin_of(path) * 100));
  if (hundredths <= 100) return {};
  const int rest = hundredths % 100;
  std::string text = "counted " + std::to_string(hundredths / 100) + "." + (rest < 10 ? "0" : "") +
                     std::to_string(rest) + " times: ";
  return text + (path == CopyPath::window_threads ? "its helper threads may be asleep"
                                                  : "it must clearly beat the driver's copy");
}

}  // namespace

DevicePaths::DevicePaths(const Driver& driver, int ordinal, const WindowCache& windows,
                         const RingSettings& ring)
    : context_(Context::retain(driver, ordinal)),
      windows_(windows),
      ring_(context_, ring),
      mover_(context_),
      bounce_(context_) {
  use(std::make_shared<const Profile>(
      Profile::for_device(context_.device(), host::effective_cores(), driver.emulated())));
}

void DevicePaths::use(const std::shared_ptr<const Profile>& profile) {
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(profiles_, profile) == profiles_.end()) profiles_.push_back(profile);
    profile_.store(profile.get(), std::memory_order_release);
  }
  for (auto& share : pause_shares_) share.store(1, std::memory_order_relaxed);
  ring_.use_threads(profile->ring_threads());
  find_window_limits(Direction::host_to_device);
  find_window_limits(Direction::device_to_host);
}

CUstream DevicePaths::background_stream() {
  const std::lock_guard lock(mutex_);
  if (!background_stream_) background_stream_.emplace(context_);
  return background_stream_->handle();
}

DevicePaths::Fit DevicePaths::fit(CopyPath path, const Crossing& crossing,
                                  const Profile& profile) const {
  if (profile.curve(path, crossing.direction, crossing.host_kind) == nullptr &&
      path != CopyPath::driver) {
    const bool needs_pageable = path == CopyPath::staged || path == CopyPath::registered;
    if (needs_pageable && crossing.host_kind == MemoryKind::pinned) return Fit::pinned_already;
    return Fit::not_measured;
  }
  if (is_window(path)) {
    if (crossing.size_bytes > kMaxWindowBytes) return Fit::too_long;
    if (!windows_.may_open(context_.device().ordinal)) return Fit::no_window;
    if (takes_much_cpu(path, crossing, profile)) return Fit::much_cpu;
  }
  if (path == CopyPath::staged) {
    if (ring_given_up_.load(std::memory_order_relaxed)) return Fit::given_up;
    if (ring_.num_threads() < 2) return Fit::one_thread;
  }
  if (path == CopyPath::registered) return Fit::by_name_only;
  return Fit::yes;
}

std::string DevicePaths::text_of(Fit fit) const {
  switch (fit) {
    case Fit::yes:
      return {};
    case Fit::no_window:
      return windows_.why_not(context_.device().ordinal);
    case Fit::too_long:
      return "longer than a copy's window, " + std::to_string(kMaxWindowBytes >> 20U) + " MiB";
    case Fit::pinned_already:
      return "the host's memory is pinned already";
    case Fit::much_cpu:
      return "only if it is named: its threads take more than twice the CPU time of the driver's "
             "copy";
    case Fit::one_thread:
      return "there is only one core to copy with";
    case Fit::not_measured:
      return "not in the profile";
    case Fit::by_name_only:
      return "only if it is named: no other copy may use the same pages meanwhile";
    case Fit::given_up: {
      const std::lock_guard lock(mutex_);
      return why_ring_given_up_;
    }
  }
  return {};
}

double DevicePaths::seconds(CopyPath path, const Crossing& crossing) const {
  return seconds(expectation(path, crossing));
}

Expectation DevicePaths::expectation(CopyPath path, const Crossing& crossing) const noexcept {
  return expectation(*profile(), path, crossing);
}

Expectation DevicePaths::expectation(const Profile& profile, CopyPath path,
                                     const Crossing& crossing) noexcept {
  const CostCurve* const curve = profile.curve(path, crossing.direction, crossing.host_kind);
  if (curve == nullptr) return {path, crossing};
  return {path, crossing, curve->seconds(crossing.size_bytes),
          profile.pause_seconds(path, crossing.direction, crossing.host_kind)};
}

[[gnu::hot]] double DevicePaths::seconds(const Expectation& expected) const noexcept {
  return expected.back_to_back_seconds + pause_seconds(expected);
}

[[gnu::hot]] void DevicePaths::fetch(const Expectation& expected) const noexcept {
  __builtin_prefetch(&profile_);
  // learn() changes the shares of all paths.
  __builtin_prefetch(&pause_shares_[way_of(kAllPaths.front(), expected.crossing)]);
  __builtin_prefetch(&pause_shares_[way_of(kAllPaths.back(), expected.crossing)]);
}

/// What was seen of pauses lately; 0 without a pause.
[[gnu::hot]] double DevicePaths::pause_seconds(const Expectation& expected) const noexcept {
  if (!expected.crossing.after_pause) return 0;
  const std::size_t way = way_of(expected.path, expected.crossing);
  return pause_shares_[way].load(std::memory_order_relaxed) * expected.pause_seconds;
}

[[gnu::hot]] void DevicePaths::learn(const Expectation& expected, double seconds,
                                     bool is_try) noexcept {
  if (!expected.crossing.after_pause || expected.pause_seconds < kLeastPauseSeconds) return;
  const double more = seconds - expected.back_to_back_seconds;
  const float seen = std::clamp(static_cast<float>(more / expected.pause_seconds), 0.0F, kMaxShare);
  std::atomic<float>& taken = pause_shares_[way_of(expected.path, expected.crossing)];
  const float before = taken.load(std::memory_order_relaxed);
  const float now = before + learned_of(is_try, seen < before) * (seen - before);
  taken.store(now, std::memory_order_relaxed);
  const float followed = expected.pause_seconds < kLeastFollowedSeconds ? 1 : now;
  for (const CopyPath path : kAllPaths) {
    if (path == expected.path) continue;
    std::atomic<float>& other = pause_shares_[way_of(path, expected.crossing)];
    const float share = other.load(std::memory_order_relaxed);
    other.store(share + kFollowed * (followed - share), std::memory_order_relaxed);
  }
}

Choice DevicePaths::best(const Crossing& crossing, bool without_windows) const {
  const Profile* const current = profile();
  double least = std::numeric_limits<double>::infinity();
  Choice best{CopyPath::driver, least};
  for (const CopyPath path : kAllPaths) {
    if (without_windows && is_window(path)) continue;
    if (current->curve(path, crossing.direction, crossing.host_kind) == nullptr) continue;
    const Expectation expected = expectation(*current, path, crossing);
    const double cost = seconds(expected);
    const double counted = counted_seconds(path, cost, pause_seconds(expected));
    if (counted >= least || fit(path, crossing, *current) != Fit::yes) continue;
    least = counted;
    best = {path, cost};
  }
  if (best.seconds == std::numeric_limits<double>::infinity()) best.seconds = 0;
  return best;
}

bool DevicePaths::is_driver_to_be_tried(CopyPath best, const Crossing& crossing) noexcept {
  if (!crossing.after_pause || best == CopyPath::driver) return false;
  const Profile& current = *profile();
  const Expectation by_driver = expectation(current, CopyPath::driver, crossing);
  if (by_driver.pause_seconds < kLeastPauseSeconds) return false;
  const Expectation by_best = expectation(current, best, crossing);
  // What was learned may be wrong by now, so it can't raise this. And where pauses cost the best path
  // little, they may cost the driver little.
  const double share = pause_seconds(by_best) < by_best.pause_seconds
                           ? pause_seconds(by_best) / by_best.pause_seconds
                           : 1;
  const double least_seconds = by_driver.back_to_back_seconds +
                               std::min(pause_seconds(by_driver), share * by_driver.pause_seconds);
  if (least_seconds > kMaxTriedTimes * seconds(by_best)) return false;
  std::atomic<unsigned>& num_untried = num_untried_[way_of(CopyPath::driver, crossing)];
  return num_untried.fetch_add(1, std::memory_order_relaxed) % kTriedEvery == 1;
}

std::string DevicePaths::obstacle(CopyPath path, const Crossing& crossing) const {
  const Profile* const current = profile();
  const Fit found = fit(path, crossing, *current);
  // A path that is named needs no prediction.
  const bool by_name =
      found == Fit::not_measured || found == Fit::by_name_only || found == Fit::much_cpu;
  if (by_name) return {};
  return text_of(found);
}

std::vector<PathCost> DevicePaths::costs(const Crossing& crossing) const {
  const Profile* const current = profile();
  Crossing after_pause = crossing;
  after_pause.after_pause = true;
  std::vector<PathCost> costs;
  for (const CopyPath path : kAllPaths) {
    const Fit found = fit(path, crossing, *current);
    const bool usable = found == Fit::yes;
    costs.push_back({path, usable, seconds(expectation(*current, path, crossing)),
                     pause_seconds(expectation(*current, path, after_pause)),
                     usable ? text_of_margin(path) : text_of(found)});
  }
  const auto counted = [&](const PathCost& cost) {
    return counted_seconds(cost.path, cost.seconds,
                           pause_seconds(expectation(*current, cost.path, crossing)));
  };
  std::stable_sort(costs.begin(), costs.end(), [&](const PathCost& one, const PathCost& other) {
    if (one.usable != other.usable) return one.usable;
    return one.usable && counted(one) < counted(other);
  });
  return costs;
}

/// Tries larger and larger sizes while windows are cheapest for both kinds of host memory.
void DevicePaths::find_window_limits(Direction direction) {
  std::size_t window_bytes = 0;
  std::size_t threads_bytes = 0;
  std::size_t always_bytes = 0;
  std::size_t alone_bytes = 0;
  std::size_t at_once_bytes = 0;
  for (std::size_t size = kSmallestStep; size <= kMaxWindowBytes; size += size / 4) {
    const BestWindows again = best_windows(direction, size, false);
    if (!again.for_both) break;
    const BestWindows after_pause = best_windows(direction, size, true);
    const std::size_t before = std::exchange(threads_bytes, size);
    if (window_bytes == before && again.one_thread_for_both) window_bytes = size;
    // Choosing takes more time than it could spare the shortest copies.
    const bool always = after_pause.for_both &&
                        (window_bytes == size || windows_win_clearly_after_pause(direction, size));
    if (always_bytes == before && always) always_bytes = size;
    // A window costs the same for both kinds of memory: if one's profile says that waking threads
    // doesn't pay, it doesn't clearly pay for the other's.
    if (alone_bytes == before && after_pause.one_thread_for_one) alone_bytes = size;
    const bool at_once =
        window_bytes == size &&
        seconds(CopyPath::window, {direction, MemoryKind::pageable, size}) <= kBeginningSeconds;
    if (at_once) at_once_bytes = size;
  }
  Until& until = until_[static_cast<int>(direction)];
  until.window_bytes = window_bytes;
  until.threads_bytes = threads_bytes;
  until.always_bytes = always_bytes;
  until.alone_bytes = alone_bytes;
  at_once_bytes_[static_cast<int>(direction)] = at_once_bytes;
}

DevicePaths::BestWindows DevicePaths::best_windows(Direction direction, std::size_t size_bytes,
                                                   bool after_pause) const {
  const auto path_of = [&](MemoryKind kind) {
    return best({direction, kind, size_bytes, after_pause}, false).path;
  };
  const CopyPath pageable = path_of(MemoryKind::pageable);
  const CopyPath pinned = path_of(MemoryKind::pinned);
  const bool for_pageable = pageable == CopyPath::window;
  const bool for_pinned = pinned == CopyPath::window;
  return {is_window(pageable) && is_window(pinned), for_pageable && for_pinned,
          for_pageable || for_pinned};
}

/// Otherwise the copy is planned, by what copies have taken lately.
bool DevicePaths::windows_win_clearly_after_pause(Direction direction,
                                                  std::size_t size_bytes) const {
  return std::ranges::all_of(
      std::array{MemoryKind::pageable, MemoryKind::pinned}, [&](MemoryKind kind) {
        const Crossing crossing{direction, kind, size_bytes, true};
        return seconds(CopyPath::driver, crossing) > kClearly * best(crossing, false).seconds;
      });
}

void DevicePaths::give_up_ring(const std::string& why) {
  const std::lock_guard lock(mutex_);
  why_ring_given_up_ = why;
  ring_given_up_ = true;
}

void DevicePaths::trim() {
  ring_.trim();
  bounce_.trim();
  ring_given_up_ = false;
}

}  // namespace isthmus::transfer
