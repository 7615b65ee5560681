// Streams and events: the order in which operations happen.
#pragma once

#include <cstdint>
#include <functional>

#include "api/cuda_api.hpp"
#include "streams/scheduler.hpp"

namespace isthmus::emulator {

struct Context;

struct Stream {
  std::uint64_t number = 0;  ///< for the log; 0 is the legacy default stream
  Context* context = nullptr;
  bool blocking = true;  ///< ordered with the legacy default stream
  OperationPtr last;     ///< the last enqueued operation; null at first
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
/// Throws Refusal: INVALID_CONTEXT; INVALID_HANDLE for a destroyed stream, or one of another
/// context; STREAM_CAPTURE_IMPLICIT like refuse_beside_blocking_capture().
StreamPtr find_stream(Lock& lock, Context& context, CUstream handle);

/// Visits all streams of a context except its legacy default stream.
void for_each_stream(Lock& lock, const Context& context,
                     const std::function<void(const Stream&)>& visit);

/// Adds an operation to the end of a stream, after everything it waits for by CUDA's rules.
///
/// also_after   an operation of another stream (an event's record); may be null
void enqueue(Lock& lock, const StreamPtr& stream, const OperationPtr& operation,
             const OperationPtr& also_after = nullptr, Worker worker = Worker::engine);

/// The operations to complete before the stream is idle; for the default stream, also those of
/// every blocking stream.
std::vector<OperationPtr> unfinished(Lock& lock, const Stream& stream);

/// The result of a query. Like a real driver, briefly delays a caller that gets "not ready", so
/// that a polling caller doesn't keep the engines from the lock.
CUresult query_result(Lock& lock, bool ready);

/// Blocks until all of these are complete.
void drain(Lock& lock, const Stream& stream);

}  // namespace isthmus::emulator
