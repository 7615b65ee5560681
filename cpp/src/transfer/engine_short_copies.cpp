// Copies so short that planning them would take longer than their bytes do.
#include <chrono>

#include "device/capture.hpp"
#include "transfer/engine.hpp"
#include "transfer/stream_order.hpp"
#include "window/allocation.hpp"

namespace isthmus::transfer {
namespace {

using Clock = std::chrono::steady_clock;

// Two looks at the clock cost as much as half of the shortest copy: one in so many is timed.
constexpr std::uint32_t kTimedEvery = 64;
thread_local std::uint32_t num_short_copies = 0;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Calls what copies, and times it if it's the thread's turn.
///
/// predicted_seconds   a function: asked only then
template <typename Copy, typename Predicted>
void carry_and_count(CopyStatistics& statistics, CopyPath path, std::size_t size_bytes,
                     const Copy& copy, const Predicted& predicted_seconds) {
  // Before the bytes: behind them an atomic addition would wait until they have left the core.
  statistics.count(path, size_bytes);
  if (num_short_copies++ % kTimedEvery != 0) return copy();
  const auto start = Clock::now();
  copy();
  statistics.time(path, seconds_since(start), predicted_seconds(), kTimedEvery);
}

}  // namespace

/// The way of small copies through a window that is open: nothing is asked that need not be.
///
/// Returns     false, and has done nothing, if it is not for such a copy.
bool Engine::copy_small(void* target, const void* source, std::size_t size_bytes,
                        const CopyOptions& options) {
  const auto to = reinterpret_cast<std::uintptr_t>(target);
  const auto from = reinterpret_cast<std::uintptr_t>(source);
  auto window = cache_->find_either(to, from, size_bytes);
  if (window == nullptr) return false;
  const bool uploads = window->covers(to, size_bytes);
  DevicePaths& ways = paths(window->device());
  const Direction direction = uploads ? Direction::host_to_device : Direction::device_to_host;
  if (size_bytes > ways.window_threads_until_bytes(direction)) return false;
  const bool threads = size_bytes > ways.window_until_bytes(direction);
  const ContextOfDevice context(ways.context());
  const MemoryKind hint = uploads ? options.source_kind : options.target_kind;
  const bool direct =
      is_said_to_be_host(hint) ||
      host_memory_.touch(uploads ? source : target, size_bytes,
                         uploads ? host::Access::read : host::Access::write) == HostTouch::direct;
  if (!direct || window::buffer_id_at(driver, uploads ? to : from) != window->buffer_id())
    return false;
  if (is_captured(driver, stream_of(options))) return false;
  if (options.ordered) wait_for_work(driver, stream_of(options));
  const CopyPath path = threads ? CopyPath::window_threads : CopyPath::window;
  carry_and_count(
      statistics, path, size_bytes,
      [&] {
        if (uploads) {
          window->write(to, source, size_bytes, threads);
        } else {
          window->read(target, from, size_bytes, threads);
        }
      },
      [&] { return ways.seconds(path, {direction, MemoryKind::pageable, size_bytes}); });
  return true;
}

/// Only what no window would do better: those are earned by what is counted here.
void Engine::note_copy(const Task& task, const CopyOptions& options, double predicted_seconds) {
  DevicePaths& ways = paths(task.device);
  const bool repeatable = task.crosses && is_complete_on_return(task.ends, stream_of(options)) &&
                          ways.best(task.crossing, false).path == CopyPath::driver;
  if (!repeatable) return;
  const RepeatedCopy::Facts facts{task.device, task.uploads(), task.host_range().buffer_id,
                                  ways.profile(), predicted_seconds};
  RepeatedCopy::of_thread().note(this, task.ends.target, task.ends.source, task.ends.size_bytes,
                                 facts, host::this_tick());
}

/// Returns     false, and has done nothing, if the thread has just done another copy.
bool Engine::copy_again(void* target, const void* source, std::size_t size_bytes,
                        const CopyOptions& options) {
  const RepeatedCopy::Facts facts =
      RepeatedCopy::of_thread().find(this, target, source, size_bytes, host::this_tick());
  if (facts.device < 0) return false;
  const MemoryKind host = facts.pinned_id == 0 ? MemoryKind::pageable : MemoryKind::pinned;
  const CopyEnds ends{target,
                      source,
                      size_bytes,
                      facts.uploads ? MemoryKind::device : host,
                      facts.uploads ? host : MemoryKind::device,
                      false};
  const CUstream stream = stream_of(options);
  if (!is_complete_on_return(ends, stream)) return false;
  DevicePaths& ways = paths(facts.device);
  if (ways.profile() != facts.profile) return false;
  const ContextOfDevice context(ways.context());
  if (!is_still_there(ends, facts) || is_captured(driver, stream)) return false;
  return repeat_copy(ends, facts);
}

/// Of the host's end: a file may have become shorter since, pinned memory may have been freed.
bool Engine::is_still_there(const CopyEnds& ends, const RepeatedCopy::Facts& facts) const {
  const void* const host = facts.uploads ? ends.source : ends.target;
  if (facts.pinned_id == 0) return host_memory_.is_known(host, ends.size_bytes);
  return window::buffer_id_at(driver, reinterpret_cast<std::uintptr_t>(host)) == facts.pinned_id;
}

/// Returns     false if the driver doesn't know one of the addresses any more.
bool Engine::repeat_copy(const CopyEnds& ends, const RepeatedCopy::Facts& facts) try {
  carry_and_count(
      statistics, CopyPath::driver, ends.size_bytes, [&] { copy_whole(driver, ends); },
      [&] { return facts.predicted_seconds; });
  return true;
} catch (const DriverError& error) {
  if (error.code() != CUDA_ERROR_INVALID_VALUE) throw;
  return false;
}

}  // namespace isthmus::transfer
