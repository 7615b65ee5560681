// Copies that return before they are complete.
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "transfer/engine.hpp"
#include "transfer/failed_copy.hpp"
#include "transfer/stream_order.hpp"
#include "transfer/vanishing_memory.hpp"

namespace isthmus::transfer {
namespace {

/// The driver copies, and its stream orders it both ways.
bool driver_can(const Task& task) {
  return task.ends.source_kind != MemoryKind::pageable &&
         task.ends.target_kind != MemoryKind::pageable;
}

/// True if the caller's streams are those of a context that a program made for itself: an event of
/// the primary one can't mark a place in them.
bool is_foreign_context(const Driver& driver, const Context& own) {
  CUcontext current = nullptr;
  driver.call(symbol::ctx_get_current)(&current);
  return current != nullptr && current != own.handle();
}

/// A copy has just been enqueued in `stream`: what is pending ends there. If the driver can't mark
/// that, waits for the copy.
void end_there(const Driver& driver, PendingCopy& pending, CUstream stream) {
  try {
    pending.end_at(stream);
  } catch (...) {
    wait_for_copies(driver, stream);
    pending.finish(nullptr);
  }
}

}  // namespace

std::shared_ptr<PendingCopy> Engine::copy_async(void* target, const void* source,
                                                std::size_t size_bytes, const CopyOptions& options,
                                                SourceOrder source_order) {
  require_own_process();
  if (size_bytes == 0) return PendingCopy::complete();
  const Task task = examine(target, source, size_bytes, options);
  if (task.device < 0) {
    copy_on_host(driver, task.ends, stream_of(options));
    return PendingCopy::complete();
  }
  const CUstream stream = stream_of(options);
  const Context& own = paths(task.device).context();
  const ContextOfDevice context(own);
  if (is_captured(driver, stream)) {
    enqueue_driver_copy(driver, task.ends, stream);
    statistics.count(CopyPath::driver, size_bytes);
    return PendingCopy::complete();
  }
  // A pinned source is read later, whoever promised what: the caller keeps to "stream" here.
  const bool returns_late =
      source_order == SourceOrder::call && task.ends.source_kind == MemoryKind::pinned;
  if (is_foreign_context(driver, own) || (driver_can(task) && returns_late))
    return copy_now(task, options);
  if (driver_can(task)) return enqueue(task, stream);
  if (task.uploads() && source_order == SourceOrder::call) return upload_staged(task, options);
  return copy_in_background(task, options);
}

std::shared_ptr<PendingCopy> Engine::copy_now(const Task& task, const CopyOptions& options) {
  copy_planned(task, options);
  return PendingCopy::complete();
}

std::shared_ptr<PendingCopy> Engine::enqueue(const Task& task, CUstream stream) {
  // What can fail comes before the copy begins.
  auto pending = std::make_shared<PendingCopy>(paths(task.device).context());
  enqueue_driver_copy(driver, task.ends, stream);
  statistics.count(CopyPath::driver, task.ends.size_bytes);
  end_there(driver, *pending, stream);
  return pending;
}

/// By the driver's own rule for pageable sources: each call returns once its bytes are staged.
void Engine::enqueue_upload(const CopyEnds& ends, CUstream stream) const {
  if (!ends.may_vanish()) return enqueue_driver_copy(driver, ends, stream);
  bool any_enqueued = false;
  try {
    // Each call returns once its bytes are staged: the buffer may be used again.
    VanishingMemoryBuffer(ends).copy_through([&](const CopyEnds& piece) {
      enqueue_driver_copy(driver, piece, stream);
      any_enqueued = true;
    });
  } catch (...) {
    if (!any_enqueued) throw;
    throw_at_rest(driver, stream);
  }
}

/// Returns when the source may be changed; the stream waits for the rest.
std::shared_ptr<PendingCopy> Engine::upload_staged(const Task& task, const CopyOptions& options) {
  DevicePaths& ways = paths(task.device);
  const CUstream stream = stream_of(options);
  auto pending = std::make_shared<PendingCopy>(ways.context());
  const bool by_ring = task.crosses && ways.best(task.crossing, true).path == CopyPath::staged;
  statistics.count(by_ring ? CopyPath::staged : CopyPath::driver, task.ends.size_bytes);
  const auto upload = [&] {
    ways.ring().upload(task.device_address(), static_cast<const std::byte*>(task.ends.source),
                       task.ends.size_bytes, stream, UploadEnd::staged);
  };
  if (!by_ring || !ways.try_ring(upload)) enqueue_upload(task.ends, stream);
  end_there(driver, *pending, stream);
  return pending;
}

std::shared_ptr<PendingCopy> Engine::copy_in_background(const Task& task,
                                                        const CopyOptions& options) {
  DevicePaths& ways = paths(task.device);
  auto pending = std::make_shared<PendingCopy>();
  // What the caller's stream has now, and not what comes later.
  auto before = std::make_shared<Completion>(ways.context());
  before->mark(stream_of(options));
  CopyOptions own_options = options;
  own_options.stream = reinterpret_cast<std::uintptr_t>(ways.background_stream());
  own_options.path = {};
  background_->post(
      {[before]() noexcept { return before->state() != Completion::State::under_way; },
       [this, task, before, own_options, pending] {
         std::exception_ptr failure;
         try {
           before->wait();
           copy_planned(task, own_options);
         } catch (...) {
           failure = std::current_exception();
         }
         pending->finish(std::move(failure));
       }});
  return pending;
}

}  // namespace isthmus::transfer
