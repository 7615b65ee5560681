#include "transfer/engine.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "transfer/driver_copy.hpp"
#include "transfer/failed_copy.hpp"
#include "transfer/stream_order.hpp"
#include "transfer/vanishing_memory.hpp"
#include "window/forks.hpp"

namespace isthmus::transfer {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

CopyPath path_named(std::string_view name) {
  for (const CopyPath path : kAllPaths)
    if (name_of(path) == name) return path;
  throw UsageError("there is no way to copy called '" + std::string(name) +
                   "'; it must be window, window_threads, driver, staged or registered");
}

}  // namespace

Engine::Engine(Windows the_windows)
    : driver(the_windows.driver()),
      windows(std::move(the_windows)),
      process_(0),
      host_memory_(driver),
      cache_(std::make_unique<WindowCache>(windows)),
      paths_(static_cast<std::size_t>(std::max(driver.device_count(), 1))),
      background_(std::make_unique<Background>()) {
  prepare_for_failures();
  window::watch_forks();
  process_ = window::process_generation();
}

Engine::~Engine() {
  if (process_ == window::process_generation()) {
    background_.reset();  // Its copies use all the rest.
    return;
  }
  // A forked child: the threads aren't here, and the locks may be held for ever.
  [[maybe_unused]] const Background* const background = background_.release();
  [[maybe_unused]] const WindowCache* const cache = cache_.release();
  for (auto& paths : owned_paths_) {
    [[maybe_unused]] const DevicePaths* const forgotten = paths.release();
  }
}

void Engine::require_own_process() const {
  if (process_ == window::process_generation()) return;
  throw UsageError(
      "these Transfers belong to the process that this one was forked from: CUDA doesn't survive "
      "fork(); make new ones after a fork, or start processes by spawn");
}

DevicePaths& Engine::paths(int device) {
  auto& slot = paths_.at(static_cast<std::size_t>(device));
  if (DevicePaths* const found = slot.load(std::memory_order_acquire)) return *found;
  const std::lock_guard lock(mutex_);
  if (DevicePaths* const found = slot.load(std::memory_order_acquire)) return *found;
  owned_paths_.push_back(std::make_unique<DevicePaths>(driver, device, *cache_));
  slot.store(owned_paths_.back().get(), std::memory_order_release);
  return *owned_paths_.back();
}

void Engine::copy(void* target, const void* source, std::size_t size_bytes,
                  const CopyOptions& options) {
  require_own_process();
  if (size_bytes == 0) return;
  if (options.path.empty() && (copy_small(target, source, size_bytes, options) ||
                               copy_again(target, source, size_bytes, options)))
    return;
  copy_planned(examine(target, source, size_bytes, options), options);
}

void Engine::copy_planned(const Task& task, const CopyOptions& options) {
  if (task.device < 0) return copy_on_host(driver, task.ends, stream_of(options));
  DevicePaths& ways = paths(task.device);
  const ContextOfDevice context(ways.context());
  if (is_captured(driver, stream_of(options)))
    return enqueue_driver_copy(driver, task.ends, stream_of(options));
  const auto start = Clock::now();
  std::shared_ptr<CachedWindow> window;
  double predicted_seconds = 0;
  const CopyPath path = prepare(task, options, window, predicted_seconds);
  statistics.count(path, task.ends.size_bytes);
  carry_or_fall_back(task, path, window.get(), options);
  statistics.time(path, seconds_since(start), predicted_seconds, 1);
  if (path == CopyPath::driver && options.path.empty()) note_copy(task, options, predicted_seconds);
}

/// Decides, and opens a window if one is to be used.
CopyPath Engine::prepare(const Task& task, const CopyOptions& options,
                         std::shared_ptr<CachedWindow>& window, double& predicted_seconds) {
  DevicePaths& ways = paths(task.device);
  if (!options.path.empty()) {
    const CopyPath named = prepare_named(task, options, window);
    predicted_seconds = ways.seconds(named, task.crossing);
    return named;
  }
  if (!task.crosses) return CopyPath::driver;
  Choice choice = ways.best(task.crossing, false);
  if (is_window(choice.path)) {
    const Choice second = ways.best(task.crossing, true);
    window = window_for(task);
    if (window == nullptr)
      window = cache_->earn(task.device_range(), task.device_address(), task.ends.size_bytes,
                            second.seconds - choice.seconds, ways.window_opening_seconds());
    if (window == nullptr) choice = second;
  }
  predicted_seconds = choice.seconds;
  return choice.path;
}

CopyPath Engine::prepare_named(const Task& task, const CopyOptions& options,
                               std::shared_ptr<CachedWindow>& window) {
  const CopyPath path = path_named(options.path);
  if (path == CopyPath::driver) return path;
  const std::string name = "copy by " + std::string(name_of(path));
  if (!task.crosses)
    throw Unavailable(name, "the copy isn't between the host and a GPU's own memory",
                      "a source and a target on different sides of the link");
  const std::string obstacle = paths(task.device).obstacle(path, task.crossing);
  if (!obstacle.empty()) throw Unavailable(name, obstacle, "another path, or none by name");
  const bool needs_pageable = path == CopyPath::staged || path == CopyPath::registered;
  if (needs_pageable && task.crossing.host_kind == MemoryKind::pinned)
    throw Unavailable(name, "the host's memory is pinned already", "pageable memory");
  if (is_window(path)) {
    window = window_for(task);
    if (window == nullptr)
      window = cache_->open(task.device_range(), task.device_address(), task.ends.size_bytes);
  }
  return path;
}

/// An open window on the very buffer.
std::shared_ptr<CachedWindow> Engine::window_for(const Task& task) {
  auto window = cache_->find(task.device_address(), task.ends.size_bytes);
  if (window != nullptr && window->buffer_id() != task.device_range().buffer_id) window = nullptr;
  return window;
}

void Engine::carry_or_fall_back(const Task& task, CopyPath path, CachedWindow* window,
                                const CopyOptions& options) {
  const bool may_fall_back = options.path.empty() && path == CopyPath::staged;
  if (!may_fall_back) return carry(task, path, window, options);
  const bool carried = paths(task.device).try_ring([&] { carry(task, path, window, options); });
  if (!carried) carry(task, CopyPath::driver, nullptr, options);
}

void Engine::carry(const Task& task, CopyPath path, CachedWindow* window,
                   const CopyOptions& options) {
  const bool touches = path != CopyPath::staged && path != CopyPath::registered;
  if (!touches || !task.ends.may_vanish()) return carry_directly(task, path, window, options);
  VanishingMemoryBuffer(task.ends).copy_through([&](const CopyEnds& ends) {
    Task piece = task;
    piece.ends = ends;
    carry_directly(piece, path, window, options);
  });
}

void Engine::carry_directly(const Task& task, CopyPath path, CachedWindow* window,
                            const CopyOptions& options) {
  const CUstream stream = stream_of(options);
  switch (path) {
    case CopyPath::driver:
      return copy_by_driver(driver, task.ends, stream);
    case CopyPath::registered:
      return copy_registered(driver, task.ends, stream);
    case CopyPath::staged:
      return copy_staged(task, stream);
    case CopyPath::window:
    case CopyPath::window_threads:
      break;
  }
  if (options.ordered) wait_for_work(driver, stream);
  const bool threads = path == CopyPath::window_threads;
  if (task.uploads()) {
    window->write(task.device_address(), task.ends.source, task.ends.size_bytes, threads);
  } else {
    window->read(task.ends.target, task.device_address(), task.ends.size_bytes, threads);
  }
}

void Engine::copy_staged(const Task& task, CUstream stream) {
  StagingRing& ring = paths(task.device).ring();
  if (task.uploads()) {
    ring.upload(task.device_address(), static_cast<const std::byte*>(task.ends.source),
                task.ends.size_bytes, stream);
  } else {
    ring.download(static_cast<std::byte*>(task.ends.target), task.device_address(),
                  task.ends.size_bytes, stream);
  }
}

CopyPlan Engine::explain(const void* target, const void* source, std::size_t size_bytes,
                         const CopyOptions& options) {
  require_own_process();
  if (size_bytes == 0) throw UsageError("a copy of 0 bytes takes no path");
  const Task task = examine(const_cast<void*>(target), source, size_bytes, options);
  CopyPlan plan;
  plan.source = task.source.kind;
  plan.target = task.target.kind;
  plan.device = task.device;
  if (task.device < 0 || !task.crosses) {
    plan.costs.push_back({CopyPath::driver, true, 0,
                          "the only way here: the copy isn't between the host and a GPU's own "
                          "memory"});
    return plan;
  }
  DevicePaths& ways = paths(task.device);
  plan.path = ways.best(task.crossing, false).path;
  plan.costs = ways.costs(task.crossing);
  plan.measured = ways.profile()->measured();
  plan.profile = ways.profile()->source();
  return plan;
}

void Engine::use_profile(std::string_view json) {
  require_own_process();
  std::string refusals;
  for (int device = 0; device < driver.device_count(); ++device) {
    DevicePaths& ways = paths(device);
    try {
      ways.use(std::make_shared<const Profile>(
          Profile::parse(json, ways.context().device(), driver.emulated())));
      return;
    } catch (const UsageError& refusal) {
      refusals = refusal.what();
    }
  }
  throw UsageError(refusals.empty() ? "there is no device that a profile could be of" : refusals);
}

void Engine::trim() {
  require_own_process();
  cache_->trim();
  const std::lock_guard lock(mutex_);
  for (auto& paths : owned_paths_) paths->trim();
}

}  // namespace isthmus::transfer
