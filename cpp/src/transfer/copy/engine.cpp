#include "transfer/copy/engine.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "driver/forks.hpp"
#include "transfer/copy/copy_at_once.hpp"
#include "transfer/request/failed_copy.hpp"
#include "transfer/request/stream_order.hpp"
#include "transfer/staging/file_source.hpp"
#include "window/copies/copy_cpus.hpp"

namespace isthmus::transfer {
namespace {

/// Only one thread's copies: those of several occupy more than the caller.
bool is_shorter_than_beginning(CopyPath path, const Crossing& crossing, const DevicePaths& device) {
  return path == CopyPath::window &&
         crossing.size_bytes <= device.window_at_once_bytes(crossing.direction);
}

/// True if the driver doesn't know one of a copy's addresses any more. Not if a part of the copy may
/// still be running: it mustn't be made again beside that.
bool is_of_changed_memory(const DriverError& error) {
  return error.code() == CUDA_ERROR_INVALID_VALUE && !error.memory_in_use();
}

}  // namespace

Engine::Engine(Windows the_windows, const RingSettings& ring)
    : driver(the_windows.driver()),
      windows(std::move(the_windows)),
      process_(0),
      host_memory_(driver),
      cache_(std::make_unique<WindowCache>(windows)),
      devices_(driver, *cache_, ring),
      chooser_(driver, devices_, *cache_),
      // If the threads that help copies spin for less, every call would be a pause.
      carriers_(driver, std::max<std::chrono::nanoseconds>(window::spin_time(),
                                                           std::chrono::microseconds{20})),
      plans_(driver, devices_, *cache_, host_memory_),
      many_(driver, host_memory_, devices_, *cache_, chooser_, carriers_),
      strided_(driver, host_memory_, devices_),
      blocks_(driver, host_memory_, devices_, many_, carriers_) {
  prepare_for_failures();
  watch_forks();
  process_ = process_generation();
}

Engine::~Engine() {
  if (process_ == process_generation()) {
    carriers_.end();  // its copies use everything else
    return;
  }
  // In a forked child the threads don't exist, and the locks may be held for ever.
  carriers_.forget();
  [[maybe_unused]] const WindowCache* const cache = cache_.release();
  devices_.forget();
}

Transfers Engine::transfers(Windows windows, const RingSettings& ring) {
  return Transfers(std::make_shared<Engine>(std::move(windows), ring));
}

Engine& Engine::in_child() {
  Engine* child = child_.load(std::memory_order_acquire);
  while (child == nullptr || child->process_ != process_generation()) {
    auto fresh = std::make_unique<Engine>(windows);
    if (child_.compare_exchange_strong(child, fresh.get(), std::memory_order_acq_rel))
      child = fresh.release();
  }
  return *child;
}

void Engine::copy(void* target, const void* source, std::size_t size_bytes,
                  const CopyOptions& options) {
  const Request request = request_of(options, Return::complete);
  if (size_bytes == 0 || copy_again(target, source, size_bytes, request)) return;
  copy_examined(examined(target, source, size_bytes, request), request);
}

Task Engine::examined(void* target, const void* source, std::size_t size_bytes,
                      const Request& request) {
  const Devices::AnyContext any = devices_.any_context(names_device(request));
  const std::int64_t start_ns = carriers_.pauses().now_ns();
  Task task = examine(driver, host_memory_, target, source, size_bytes, request, any.exists);
  task.start_ns = start_ns;
  // Nobody waits for an asynchronous copy's bytes: its path matters for when the call returns.
  task.crossing.after_pause =
      request.when == Return::complete && carriers_.pauses().is_after_pause(start_ns);
  return task;
}

Task Engine::examined(void* target, const FileSource& source, std::size_t size_bytes) {
  driver.require_devices();
  const Devices::AnyContext any = devices_.any_context(true);
  return examine(driver, target, source, size_bytes);
}

/// Returns     false, with nothing done, if the copy must be examined.
bool Engine::copy_again(void* target, const void* source, std::size_t size_bytes,
                        const Request& request) try {
  Plan plan = plans_.find(target, source, size_bytes, request);
  if (!plan) return false;
  Carriers::Timing timing = carriers_.next_timing();
  if (plan.path == CopyPath::window_threads && plan.window->helpers_asleep()) {
    timing = carriers_.timed_alone();
    if (carriers_.pauses().is_after_pause(timing.start_ns))
      plan.path = PlanCache::path_after_pause(plan);
  }
  const ContextOfDevice context(plan.device->context());
  if (!plans_.confirm(plan, request)) return false;
  carriers_.carry_again(plan, request, timing);
  return true;
} catch (const DriverError& error) {
  if (!is_of_changed_memory(error)) throw;
  return false;
}

bool Engine::copy_at_once(void* target, const void* source, std::size_t size_bytes,
                          const CopyOptions& options) try {
  if (size_bytes > kMaxBytesAtOnce) return false;
  Request request = request_of(options, Return::complete);
  const Carriers::Timing timing = carriers_.next_timing();
  const Plan plan = plans_.find_window(target, source, size_bytes, request);
  if (!plan || !is_shorter_than_beginning(plan.path, plan.crossing, *plan.device)) return false;
  const ContextOfDevice context(plan.device->context());
  if (!plans_.confirm(plan, request)) return false;
  if (request.ordered && !is_idle(driver, request.stream)) return false;
  request.ordered = false;
  carriers_.carry_again(plan, request, timing);
  return true;
} catch (const DriverError& error) {
  if (!is_of_changed_memory(error)) throw;
  return false;
}

/// The same for a copy that was examined: its window may be opened for it.
bool Engine::carry_at_once(const Task& task, const Request& request) {
  const bool may_be =
      task.crosses && !request.path &&
      is_shorter_than_beginning(CopyPath::window, task.crossing, devices_.at(task.device));
  if (!may_be) return false;
  Request now = request;
  now.when = Return::complete;
  const Plan plan = chooser_.ready(task, now);
  if (plan.path != CopyPath::window) return false;
  if (now.ordered && !is_idle(driver, now.stream)) return false;
  now.ordered = false;
  carriers_.carry(plan, now);
  return true;
}

void Engine::copy_examined(const Task& task, const Request& request) {
  const auto context = devices_.context_of(task, request.stream);
  const Plan plan = chooser_.ready(task, request);
  carriers_.carry(plan, request, task.start_ns);
  plans_.note(plan, request);
}

std::shared_ptr<PendingCopy> Engine::copy_async(void* target, const void* source,
                                                std::size_t size_bytes, const CopyOptions& options,
                                                SourceOrder source_order) {
  Request request = request_of(options, return_for(source_order));
  if (size_bytes == 0 || copy_at_once(target, source, size_bytes, options))
    return PendingCopy::complete();
  const Task task = examined(target, source, size_bytes, request);
  const auto context = devices_.context_of(task, request.stream);
  if (carry_at_once(task, request)) return PendingCopy::complete();
  request.when = chooser_.when_to_return(task, request);
  const Plan plan = chooser_.ready(task, request);
  if (request.when != Return::complete && !plan.recorded) return carriers_.begin(plan, request);
  carriers_.carry(plan, request);
  return PendingCopy::complete();
}

void Engine::check_host_memory(const void* memory, std::size_t size_bytes, bool writes) {
  if (size_bytes == 0) return;
  const Devices::AnyContext any = devices_.any_context(false);
  const auto access = writes ? host::Access::write : host::Access::read;
  const HostTouch touch = any.exists ? host_memory_.touch(memory, size_bytes, access)
                                     : host_memory_.touch_pageable(memory, size_bytes, access);
  if (touch == HostTouch::forbidden) refuse_untouchable(writes ? "target" : "source", access);
}

void Engine::wait_for_work(CUstream stream) {
  const Devices::AnyContext any = devices_.any_context(stream != nullptr);
  if (!any.exists) return;
  if (is_captured(driver, stream))
    throw UsageError(
        "a copy whose host array has to be packed can't be made in a stream that is being "
        "captured: packing would not be in the graph");
  transfer::wait_for_work(driver, stream);
}

void Engine::copy_file(void* target, int descriptor, std::uint64_t offset_bytes,
                       std::size_t size_bytes, const CopyOptions& options) {
  const FileSource source(descriptor, offset_bytes, size_bytes);
  if (size_bytes == 0) return;
  copy_examined(examined(target, source, size_bytes), request_of(options, Return::complete));
}

CopyPlan Engine::explain(const void* target, const void* source, std::size_t size_bytes,
                         const CopyOptions& options) {
  if (size_bytes == 0) throw UsageError("a copy of 0 bytes takes no path");
  const Request request = request_of(options, Return::complete);
  Task task = examined(const_cast<void*>(target), source, size_bytes, request);
  task.crossing.after_pause = false;
  const auto context = devices_.context_of(task, request.stream);
  return chooser_.explain(task, request);
}

void Engine::trim() {
  cache_->trim();
  devices_.trim();
}

}  // namespace isthmus::transfer
