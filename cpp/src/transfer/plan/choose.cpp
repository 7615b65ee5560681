#include "transfer/plan/choose.hpp"

#include <string>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"

namespace isthmus::transfer {
namespace {

Plan plan_of(const Task& task) {
  Plan plan(task.ends, task.crossing, nullptr, CopyPath::driver);
  plan.file = task.file;
  const MemoryRange& host = task.host_range();
  if (host.kind == MemoryKind::pinned) plan.pinned_id = host.buffer_id;
  return plan;
}

/// A copy that the driver orders in the stream returns at once, whatever another path costs.
bool is_begun_by_driver(const Task& task, const Request& request) {
  return request.when != Return::complete && task.ends.is_ordered_by_driver();
}

/// Windows write at once: such an upload would have to wait for the stream first.
bool is_staged_now(const Task& task, const Request& request) {
  return request.when == Return::source_free && task.uploads();
}

/// Staged whatever other paths cost: long memory of a mapped file, and a long upload whose source may
/// change on return, which must not wait for the stream.
bool is_staged_anyway(const Task& task, const Request& request, const DevicePaths& device) {
  const std::size_t size_bytes = task.ends.size_bytes;
  // Other paths carry such memory through BounceMemory, by one thread.
  const bool is_file = task.ends.may_vanish() && size_bytes >= std::size_t{1} << 20U;
  // The driver reads so many bytes at once. Before it reads more, it may wait for the stream.
  // Source: CUDA Driver API, "API synchronization behavior".
  const bool would_wait = is_staged_now(task, request) && size_bytes > std::size_t{64} << 10U &&
                          task.crossing.host_kind == MemoryKind::pageable;
  return (is_file || would_wait) && device.obstacle(CopyPath::staged, task.crossing).empty();
}

/// True for a copy from one GPU's own memory to another's.
bool is_between_devices(const Task& task) {
  return task.target.kind == MemoryKind::device && task.source.kind == MemoryKind::device &&
         task.target.device != task.source.device;
}

/// Why a copy that doesn't cross takes the driver's path.
std::string text_of_only_path(const Task& task, Devices& devices) {
  if (!is_between_devices(task))
    return "the only way here: the copy isn't between the host and a GPU's own memory";
  const std::string gpus = "from GPU " + std::to_string(task.source.device) + " to GPU " +
                           std::to_string(task.target.device);
  if (devices.can_join(task.target.device, task.source.device))
    return "directly " + gpus + ", by peer access";
  return "through the host " + gpus + ": they can't reach each other's memory";
}

/// plan        without a path yet
Plan choose_named(const Task& task, CopyPath path, Plan plan) {
  plan.path = path;
  plan.by_name = true;
  if (plan.path != CopyPath::driver) {
    const std::string name = "copy by " + std::string(name_of(plan.path));
    if (!task.crosses)
      throw Unavailable(name, "the copy isn't between the host and a GPU's own memory",
                        "a source and a target on different sides of the link");
    if (plan.recorded)
      throw Unavailable(
          name, "the stream is being captured, and a graph can hold only the driver's copies",
          "a stream that isn't captured, or the path driver");
    const std::string obstacle = plan.device->obstacle(plan.path, task.crossing);
    if (!obstacle.empty()) throw Unavailable(name, obstacle, "another path, or no named path");
    const bool needs_pageable = plan.path == CopyPath::staged || plan.path == CopyPath::registered;
    if (needs_pageable && task.crossing.host_kind == MemoryKind::pinned)
      throw Unavailable(name, "the host's memory is pinned already", "pageable memory");
  }
  if (plan.device != nullptr)
    plan.predicted_seconds = plan.device->seconds(plan.path, task.crossing);
  return plan;
}

}  // namespace

CopyPath path_named(std::string_view name) {
  for (const CopyPath path : kAllPaths)
    if (name_of(path) == name) return path;
  throw UsageError("unknown path '" + std::string(name) +
                   "'; it must be window, window_threads, driver, staged or registered");
}

Plan Chooser::choose(const Task& task, const Request& request) const {
  Plan plan = plan_of(task);
  if (task.device >= 0) {
    plan.device = &devices_.at(task.device);
    plan.recorded = is_captured(driver_, request.stream);
    if (plan.recorded && task.file != nullptr)
      throw UsageError("a file can't be copied in a stream that is being captured");
  }
  if (request.path) return choose_named(task, *request.path, std::move(plan));
  if (plan.recorded || !task.crosses || is_begun_by_driver(task, request)) return plan;
  if (task.file != nullptr) {
    plan.path = CopyPath::staged;
    return plan;
  }
  plan.profile = plan.device->profile();
  const Choice best = plan.device->best(task.crossing, is_staged_now(task, request));
  plan.path = best.path;
  plan.predicted_seconds = best.seconds;
  if (is_staged_anyway(task, request, *plan.device)) {
    plan.path = CopyPath::staged;
    plan.predicted_seconds = plan.device->seconds(plan.path, task.crossing);
  }
  return plan;
}

Plan Chooser::ready(const Task& task, const Request& request) {
  if (is_between_devices(task)) devices_.join(task.target.device, task.source.device);
  Plan plan = choose(task, request);
  if (is_window(plan.path)) plan.window = open_window_of(task);
  if (!is_window(plan.path) || plan.window != nullptr) return plan;
  if (plan.by_name) {
    plan.window = windows_.open(task.device_range(), task.device_address(), task.ends.size_bytes);
    plan.opens_window = true;
    return plan;
  }
  const Choice second = plan.device->best(task.crossing, true);
  plan.window = windows_.earn(task.device_range(), task.device_address(), task.ends.size_bytes,
                              second.seconds - plan.device->seconds(plan.path, task.crossing),
                              plan.device->window_opening_seconds());
  plan.opens_window = plan.window != nullptr;
  if (plan.window != nullptr) return plan;
  plan.profile = nullptr;
  plan.path = second.path;
  plan.predicted_seconds = second.seconds;
  return plan;
}

CopyPlan Chooser::explain(const Task& task, const Request& request) const {
  const Plan plan = choose(task, request);
  Task after_pause = task;
  after_pause.crossing.after_pause = true;
  CopyPlan told;
  told.path = plan.path;
  told.path_after_pause = choose(after_pause, request).path;
  told.source = task.source.kind;
  told.target = task.target.kind;
  told.device = task.device;
  if (!task.crosses) {
    told.costs.push_back({CopyPath::driver, true, 0, 0, text_of_only_path(task, devices_)});
    return told;
  }
  told.costs = plan.device->costs(task.crossing);
  told.measured = plan.device->profile()->measured();
  told.profile = plan.device->profile()->source();
  return told;
}

Return Chooser::when_to_return(const Task& task, const Request& request) const {
  // A pinned source is read later, whatever the options say: here the caller must follow the rule
  // of "stream".
  const bool is_read_late = request.when == Return::source_free &&
                            task.ends.source_kind == MemoryKind::pinned &&
                            task.ends.is_ordered_by_driver();
  if (task.device < 0 || is_read_late || devices_.at(task.device).context().is_foreign_current())
    return Return::complete;
  return request.when;
}

/// Only if it maps this very buffer: an older window may belong to an earlier buffer at this
/// address.
std::shared_ptr<CachedWindow> Chooser::open_window_of(const Task& task) {
  auto window = windows_.find(task.device_address(), task.ends.size_bytes);
  if (window != nullptr && window->buffer_id() != task.device_range().buffer_id) window = nullptr;
  return window;
}

}  // namespace isthmus::transfer
