// Threads that help one copy through a window: one core's line buffers can't fill the link.
#pragma once

#include <cstddef>
#include <memory>

#include "window/copies/streaming_copy.hpp"

namespace isthmus::window {

/// A pool of workers. One copy at a time uses them; a concurrent second copy works alone. The pool
/// belongs to the windows that use it. The destructor joins the threads; in a forked child it
/// forgets them.
///
/// The workers spin for spin_time() after their last copy, then sleep. A copy never waits for a
/// worker that sleeps. A long copy (32 KiB read, 512 KiB written) wakes two of them, and each that
/// wakes while there is work left wakes two more: a wake-up takes a microsecond or two. A shorter
/// copy wakes two of them, and only if another such copy came in the millisecond before. There are
/// never more workers than spare cores (cgroup quotas included) on the NUMA node of the thread that
/// first needs them, so there are none on a machine with one core.
///
/// Measured: benchmarks/windows. Two threads saturate the link with writes from 32 KiB on. Reads
/// become faster with one more thread per KiB, up to the number of cores.
class CopyThreads {
public:
  /// Throws   UsageError if $ISTHMUS_SPIN_US isn't a time.
  CopyThreads();
  ~CopyThreads();

  /// Copies [source, source + size_bytes) to `target` with up to `num_threads` threads, including
  /// the caller's, and fences on every thread. The caller copies alone if the size is too small for
  /// workers to pay. Complete (as StreamingCopy's write and a fence) when it returns.
  void write(const StreamingCopy& copy, void* target, const void* source, std::size_t size_bytes,
             int num_threads);
  void read(const StreamingCopy& copy, void* target, const void* source, std::size_t size_bytes,
            int num_threads);

  /// Starts the threads for copies with `num_threads` now. Otherwise the first such copy starts
  /// them (some 20 us each).
  void start(int num_threads);

  /// True if the next copy finds no thread awake.
  bool asleep() const noexcept;

  /// The number of threads started so far, without the caller's.
  int num_started() const noexcept;

private:
  struct Pool;
  void copy(const struct CopyJob& job, std::size_t num_threads);
  std::unique_ptr<Pool> pool_;
};

}  // namespace isthmus::window
