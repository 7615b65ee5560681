#include "transfer/plan/device_paths.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "host/cpu/cgroup.hpp"

namespace isthmus::transfer {
namespace {

/// What paths are compared by that are clearly cheaper than the driver's copy.
double counted_seconds(CopyPath path, double seconds) {
  return path == CopyPath::window_threads ? seconds * margin_of(path) : seconds;
}

/// 0 for a path that has no curve.
double seconds_of(const Profile& profile, CopyPath path, const Crossing& crossing) noexcept {
  const CostCurve* const curve = profile.curve(path, crossing.direction, crossing.host_kind);
  if (curve == nullptr) return 0;
  const double more = crossing.after_pause
                          ? profile.pause_seconds(path, crossing.direction, crossing.host_kind)
                          : 0;
  return curve->seconds(crossing.size_bytes) + more;
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
         alone->seconds(crossing.size_bytes) > 2 * driver->seconds(crossing.size_bytes);
}

/// What is said of a usable path; empty for the driver's copy.
std::string text_of_margin(CopyPath path) {
  if (path == CopyPath::driver) return {};
  std::string text = "it must be 1.3 times cheaper than the driver's copy";
  if (path == CopyPath::window_threads) text += " and than one thread's, which wakes no other";
  if (path == CopyPath::staged) text += ", also after a pause";
  return text;
}

}  // namespace

DevicePaths::DevicePaths(const Driver& driver, int ordinal, const WindowCache& windows,
                         const RingSettings& ring)
    : context_(Context::retain(driver, ordinal)),
      windows_(windows),
      ring_(context_, ring),
      mover_(context_),
      block_mover_(context_),
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
    if (crossing.size_bytes > WindowCache::kMaxWindowBytes) return Fit::too_long;
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
      return "longer than a copy's window, " + std::to_string(WindowCache::kMaxWindowBytes >> 20U) +
             " MiB";
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

double DevicePaths::seconds(CopyPath path, const Crossing& crossing) const noexcept {
  return seconds_of(*profile(), path, crossing);
}

/// One thread's window wakes nobody: a pause costs it no more than the driver's copy. The driver takes
/// twice as long to write memory that the ring's threads have just written, so their paths don't take
/// turns with the rhythm.
bool DevicePaths::is_clearly_cheaper(const Profile& profile, CopyPath path,
                                     const Crossing& crossing) {
  if (profile.curve(CopyPath::driver, crossing.direction, crossing.host_kind) == nullptr)
    return true;
  const auto is_in = [&](bool after_pause) {
    Crossing rhythm = crossing;
    rhythm.after_pause = after_pause;
    return margin_of(path) * seconds_of(profile, path, rhythm) <=
           seconds_of(profile, CopyPath::driver, rhythm);
  };
  if (path == CopyPath::window) return is_in(false);
  if (path == CopyPath::staged) return is_in(false) && is_in(true);
  return is_in(crossing.after_pause);
}

Choice DevicePaths::best(const Crossing& crossing, bool without_windows) const {
  const Profile* const current = profile();
  Choice best{CopyPath::driver, seconds_of(*current, CopyPath::driver, crossing)};
  double least = std::numeric_limits<double>::infinity();
  for (const CopyPath path : kAllPaths) {
    if (path == CopyPath::driver || (without_windows && is_window(path))) continue;
    if (!is_clearly_cheaper(*current, path, crossing)) continue;
    const double cost = seconds_of(*current, path, crossing);
    const double counted = counted_seconds(path, cost);
    if (counted >= least || fit(path, crossing, *current) != Fit::yes) continue;
    least = counted;
    best = {path, cost};
  }
  return best;
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
  std::vector<PathCost> costs;
  for (const CopyPath path : kAllPaths) {
    const Fit found = fit(path, crossing, *current);
    const bool usable = found == Fit::yes;
    costs.push_back({path, usable, seconds_of(*current, path, crossing),
                     current->pause_seconds(path, crossing.direction, crossing.host_kind),
                     usable ? text_of_margin(path) : text_of(found)});
  }
  const auto order = [&](const PathCost& cost) {
    if (!cost.usable) return std::pair{3, 0.0};
    if (cost.path == CopyPath::driver) return std::pair{1, 0.0};
    return std::pair{is_clearly_cheaper(*current, cost.path, crossing) ? 0 : 2,
                     counted_seconds(cost.path, cost.seconds)};
  };
  std::ranges::stable_sort(costs, {}, order);
  return costs;
}

/// Tries larger and larger sizes while windows are cheapest for both kinds of host memory.
void DevicePaths::find_window_limits(Direction direction) {
  std::size_t window_bytes = 0;
  std::size_t threads_bytes = 0;
  std::size_t always_bytes = 0;
  std::size_t alone_bytes = 0;
  std::size_t at_once_bytes = 0;
  for (std::size_t size = 64; size <= WindowCache::kMaxWindowBytes; size += size / 4) {
    const BestWindows again = best_windows(direction, size, false);
    if (!again.for_both) break;
    const BestWindows after_pause = best_windows(direction, size, true);
    const std::size_t before = std::exchange(threads_bytes, size);
    if (window_bytes == before && again.one_thread_for_both) window_bytes = size;
    if (always_bytes == before && after_pause.for_both) always_bytes = size;
    // A window costs the same for both kinds of memory: if one's profile says that waking threads
    // doesn't pay, it doesn't clearly pay for the other's.
    if (alone_bytes == before && after_pause.one_thread_for_one) alone_bytes = size;
    // Beginning a copy by the driver and waiting for it takes longer: 8.5 us at least for 64 bytes
    // down from Python on an H200. Source: benchmarks/frontdoor/h200/calls.json.
    const bool at_once = window_bytes == size &&
                         seconds(CopyPath::window, {direction, MemoryKind::pageable, size}) <= 5e-6;
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
