// Copies that return before they are complete.
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "transfer/engine.hpp"
#include "transfer/stream_order.hpp"

namespace isthmus::transfer {
namespace {

std::shared_ptr<PendingCopy> complete() {
  auto pending = std::make_shared<PendingCopy>();
  pending->done = true;
  return pending;
}

std::shared_ptr<PendingCopy> marked(const Context& context, CUstream stream) {
  auto pending = std::make_shared<PendingCopy>();
  pending->event.emplace(context, Event::Timing::disabled);
  pending->event->record(stream);
  return pending;
}

/// False, too, if what it marks has failed.
bool is_under_way(const Event& event) noexcept {
  try {
    const CurrentContext current(event.context());
    const ScopedRelaxedCapture relaxed(event.context().driver());
    return !event.complete();
  } catch (const std::exception&) {
    return false;
  }
}

/// Throws      DriverError if what a complete event marks has failed.
void require_success(const Event& event) {
  const CurrentContext current(event.context());
  const ScopedRelaxedCapture relaxed(event.context().driver());
  event.synchronize();
}

/// The driver copies, and its stream orders it both ways.
bool driver_can(const Task& task) {
  return task.ends.source_kind != MemoryKind::pageable &&
         task.ends.target_kind != MemoryKind::pageable;
}

}  // namespace

std::shared_ptr<PendingCopy> Engine::copy_async(void* target, const void* source,
                                                std::size_t size_bytes, const CopyOptions& options,
                                                SourceOrder source_order) {
  require_own_process();
  if (size_bytes == 0) return complete();
  const Task task = examine(target, source, size_bytes, options);
  if (task.device < 0) {
    copy_on_host(driver, task.ends, stream_of(options));
    return complete();
  }
  const CUstream stream = stream_of(options);
  const Context& own = paths(task.device).context();
  const ContextOfDevice context(own);
  const bool captured = is_captured(driver, stream);
  if (captured || driver_can(task)) {
    // A pinned source is read later, whoever promised what: the caller keeps to "stream" here.
    if (!captured && source_order == SourceOrder::call &&
        task.ends.source_kind == MemoryKind::pinned)
      return copy_now(task, options);
    enqueue_driver_copy(driver, task.ends, stream);
    statistics.count(CopyPath::driver, size_bytes);
    return captured ? complete() : marked(own, stream);
  }
  if (task.uploads() && source_order == SourceOrder::call) return upload_staged(task, options);
  return copy_in_background(task, options);
}

std::shared_ptr<PendingCopy> Engine::copy_now(const Task& task, const CopyOptions& options) {
  copy_planned(task, options);
  return complete();
}

/// Returns when the source may be changed; the stream waits for the rest.
std::shared_ptr<PendingCopy> Engine::upload_staged(const Task& task, const CopyOptions& options) {
  DevicePaths& ways = paths(task.device);
  const CUstream stream = stream_of(options);
  const bool by_ring = task.crosses && ways.best(task.crossing, true).path == CopyPath::staged;
  statistics.count(by_ring ? CopyPath::staged : CopyPath::driver, task.ends.size_bytes);
  const auto upload = [&] {
    ways.ring().upload(task.device_address(), static_cast<const std::byte*>(task.ends.source),
                       task.ends.size_bytes, stream, UploadEnd::staged);
  };
  // The driver's own rule for pageable sources: it returns once they are staged.
  if (!by_ring || !ways.try_ring(upload)) enqueue_driver_copy(driver, task.ends, stream);
  return marked(ways.context(), stream);
}

std::shared_ptr<PendingCopy> Engine::copy_in_background(const Task& task,
                                                        const CopyOptions& options) {
  DevicePaths& ways = paths(task.device);
  auto pending = std::make_shared<PendingCopy>();
  // What the caller's stream has now, and not what comes later.
  auto before = std::make_shared<Event>(ways.context(), Event::Timing::disabled);
  before->record(stream_of(options));
  CopyOptions own_options = options;
  own_options.stream = reinterpret_cast<std::uintptr_t>(ways.background_stream());
  own_options.path = {};
  background_->post({[before]() noexcept { return !is_under_way(*before); },
                     [this, task, before, own_options, pending] {
                       std::exception_ptr failure;
                       try {
                         require_success(*before);
                         copy_planned(task, own_options);
                       } catch (...) {
                         failure = std::current_exception();
                       }
                       pending->finish(std::move(failure));
                     }});
  return pending;
}

}  // namespace isthmus::transfer
