// Threads that help one copy through a window: the link allows more than one core's line buffers
// ask.
#pragma once

#include <cstddef>
#include <memory>

#include "window/streaming_copy.hpp"

namespace isthmus::window {

/// Persistent helper threads. One copy at a time uses them; who comes second copies alone. Owned by
/// the windows that use them; joins its threads when it goes (in a forked child: forgets them).
///
/// The threads spin for 50 us after their last copy, then sleep. A copy never waits for one that
/// sleeps: it wakes them if it is long (32 KiB read, 512 KiB written), else one of them, and that
/// only if there was another such copy in the millisecond before. There are never more of them than
/// cores to spare on the NUMA node of the thread that first needs them (cgroup quotas included), so
/// none on a machine with one core.
///
/// Measured: benchmarks/windows. Two threads saturate the link with writes from 32 KiB; a read
/// gains a thread per KiB up to the number of cores.
class CopyThreads {
public:
  CopyThreads();
  ~CopyThreads();

  /// Copies [source, source + size_bytes) to `target` with up to `num_threads` threads, the
  /// caller's included, and fences on every thread. Falls back to the caller alone below the size
  /// where helpers pay. Complete (as StreamingCopy's write and a fence) when it returns.
  void write(const StreamingCopy& copy, void* target, const void* source, std::size_t size_bytes,
             int num_threads);
  void read(const StreamingCopy& copy, void* target, const void* source, std::size_t size_bytes,
            int num_threads);

  /// Starts the threads that copies with `num_threads` will use now, rather than with the first
  /// such copy, which otherwise starts them (some 20 us each).
  void start(int num_threads);

  /// Threads started so far, the caller's not counted.
  int num_started() const noexcept;

private:
  struct Pool;
  void copy(const struct CopyJob& job, std::size_t num_threads);
  std::unique_ptr<Pool> pool_;
};

}  // namespace isthmus::window
