// CUDA's ordering rules: streams, the legacy default stream, and when a stream is idle.
#include "api/context.hpp"
#include "machine/machine.hpp"
#include "streams/stream.hpp"
#include "streams/stream_capture.hpp"

namespace isthmus::emulator {
namespace {

constexpr unsigned kTurnsBeforeNotReady = 8;

bool is_default(const Stream& stream) { return &stream == stream.context->default_stream.get(); }

/// Ordered with the legacy default stream, as CUDA documents. A new thread with the ID of one that
/// has ended inherits its stream.
StreamPtr stream_of_this_thread(Context& context) {
  StreamPtr& stream = context.thread_streams[std::this_thread::get_id()];
  if (stream == nullptr) {
    stream = std::make_shared<Stream>();
    stream->number = ++machine().num_streams_made;
    stream->context = &context;
  }
  return stream;
}

void add_blocking_streams(Lock& lock, const Context& context, std::vector<OperationPtr>& last) {
  for_each_stream(lock, context, [&](const Stream& stream) {
    if (stream.blocking) last.push_back(stream.last);
  });
  last.insert(last.end(), context.orphans.begin(), context.orphans.end());
}

}  // namespace

StreamPtr find_stream(Lock& lock, Context& context, CUstream handle) {
  if (is_default_handle(handle)) {
    refuse_beside_blocking_capture(lock, context);
    return context.default_stream;
  }
  if (handle == CU_STREAM_PER_THREAD) return stream_of_this_thread(context);
  StreamPtr stream = machine().streams.find(handle);
  require(stream->context == &context, CUDA_ERROR_INVALID_HANDLE);
  return stream;
}

void for_each_stream(Lock& lock, const Context& context,
                     const std::function<void(const Stream&)>& visit) {
  (void)lock;
  machine().streams.for_each([&](const StreamPtr& stream) {
    if (stream->context == &context) visit(*stream);
  });
  for (const auto& [thread, stream] : context.thread_streams) visit(*stream);
}

std::vector<OperationPtr> unfinished(Lock& lock, const Stream& stream) {
  std::vector<OperationPtr> last{stream.last};
  if (is_default(stream)) add_blocking_streams(lock, *stream.context, last);
  return last;
}

void enqueue(Lock& lock, const StreamPtr& stream, const OperationPtr& operation,
             const OperationPtr& also_after, Worker worker) {
  require_not_captured(lock, stream);
  std::vector<OperationPtr> after = unfinished(lock, *stream);
  if (!is_default(*stream) && stream->blocking) {
    after.push_back(stream->context->default_stream->last);
  }
  after.push_back(also_after);
  operation->stream = stream.get();
  machine().scheduler.submit(lock, operation, after, worker);
  stream->last = operation;
}

CUresult query_result(Lock& lock, bool ready) {
  lock.unlock();
  for (unsigned turn = 0; turn < kTurnsBeforeNotReady && !ready; ++turn) spin_once();
  return ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

void drain(Lock& lock, const Stream& stream) {
  for (const OperationPtr& each : unfinished(lock, stream)) machine().scheduler.wait(lock, each);
}

}  // namespace isthmus::emulator
