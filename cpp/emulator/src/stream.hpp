// Streams and events: the order in which operations happen.
#pragma once

#include <cstdint>
#include <functional>

#include "cuda_api.hpp"
#include "scheduler.hpp"

namespace isthmus::emulator {

struct Context;

struct Stream {
  std::uint64_t number = 0;  ///< in the log; 0 is the legacy default stream
  Context* context = nullptr;
  bool blocking = true;  ///< ordered with the legacy default stream
  OperationPtr last;     ///< what was enqueued last; null at first
};
using StreamPtr = std::shared_ptr<Stream>;

struct Event {
  Context* context = nullptr;
  bool timed = true;
  OperationPtr recorded;  ///< the last record; null at first
};
using EventPtr = std::shared_ptr<Event>;

/// True for 0 and CU_STREAM_LEGACY.
inline bool is_default_handle(CUstream handle) {
  return handle == nullptr || handle == CU_STREAM_LEGACY;
}

/// Finds a stream of the current context: its default stream for 0 and CU_STREAM_LEGACY, the
/// calling thread's for CU_STREAM_PER_THREAD.
///
/// Throws Refusal: INVALID_CONTEXT, or INVALID_HANDLE for a destroyed stream and one of another
/// context; STREAM_CAPTURE_IMPLICIT as refuse_beside_blocking_capture() does.
StreamPtr find_stream(Lock& lock, Context& context, CUstream handle);

/// Visits all streams of a context but its legacy default stream.
void for_each_stream(Lock& lock, const Context& context,
                     const std::function<void(const Stream&)>& visit);

/// Adds an operation to the end of a stream, after what CUDA's rules say that it waits for.
///
/// also_after   an operation of another stream (an event's record); may be null
void enqueue(Lock& lock, const StreamPtr& stream, const OperationPtr& operation,
             const OperationPtr& also_after = nullptr, Worker worker = Worker::engine);

/// What has to finish before the stream is idle; for the default stream, every blocking stream too.
std::vector<OperationPtr> unfinished(Lock& lock, const Stream& stream);

/// What a query answers. A poller that hears "not ready" is held up briefly, as by a real driver,
/// so that it doesn't keep the engines from the lock.
CUresult query_result(Lock& lock, bool ready);

/// Blocks until all of that is done.
void drain(Lock& lock, const Stream& stream);

}  // namespace isthmus::emulator
