// cuStreamBeginCapture, cuStreamIsCapturing, cuStreamEndCapture, cuThreadExchangeStreamCaptureMode;
// cuGraph*: graphs of memcpy nodes, and of captured launches.
#include "streams/stream_capture.hpp"

#include <algorithm>

#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

bool is_mode(CUstreamCaptureMode mode) {
  return mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && mode <= CU_STREAM_CAPTURE_MODE_RELAXED;
}

bool forbids(const StreamCapture& capture) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) {
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  return thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

bool default_stream_waits(const StreamCapture& capture, const Context& context) {
  return capture.stream->context == &context && capture.stream->blocking;
}

/// Invalidates captures. Returns true if there were any.
template <typename Predicate>
bool end_captures_that(Lock& lock, Predicate is_meant) {
  (void)lock;
  bool any = false;
  for (StreamCapture& capture : machine().captures) {
    if (!is_meant(capture)) continue;
    capture.invalidated = true;
    any = true;
  }
  return any;
}

}  // namespace

void require_no_capture(Lock& lock) {
  const bool ended = end_captures_that(lock, forbids);
  require(!ended, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void require_no_capture_at_all(Lock& lock, const Context& context) {
  const bool ended = end_captures_that(
      lock, [&](const StreamCapture& capture) { return capture.stream->context == &context; });
  require(!ended, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void refuse_beside_blocking_capture(Lock& lock, const Context& context) {
  const bool ended = end_captures_that(
      lock, [&](const StreamCapture& capture) { return default_stream_waits(capture, context); });
  require(!ended, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

bool record_if_captured(Lock& lock, const StreamPtr& stream, const GraphNode& node) {
  (void)lock;
  auto& captures = machine().captures;
  const auto found = std::ranges::find(captures, stream, &StreamCapture::stream);
  if (found == captures.end()) return false;
  found->nodes.push_back(node);
  return true;
}

void require_not_captured(Lock& lock, const StreamPtr& stream) {
  (void)lock;
  const bool captured = std::ranges::count(machine().captures, stream, &StreamCapture::stream) > 0;
  require(!captured, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void refuse_in_capture(Lock& lock, const StreamPtr& stream) {
  (void)lock;
  auto& captures = machine().captures;
  const auto found = std::ranges::find(captures, stream, &StreamCapture::stream);
  if (found == captures.end()) return;
  found->invalidated = true;
  throw Refusal(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

namespace {

using NodeNumber = std::uintptr_t;

/// Nodes are numbered from 1 in the order in which they were added.
CUgraphNode node_at(std::size_t index) {
  return reinterpret_cast<CUgraphNode>(static_cast<NodeNumber>(index + 1));
}

bool is_node_of(const Graph& graph, CUgraphNode node) {
  const auto number = reinterpret_cast<NodeNumber>(node);
  return number >= 1 && number <= graph.nodes.size();
}

CUdeviceptr address_in(CUmemorytype type, const void* host, CUdeviceptr device) {
  require(type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE ||
          type == CU_MEMORYTYPE_UNIFIED);
  return type == CU_MEMORYTYPE_HOST ? address_of(host) : device;
}

/// In order; copies that follow each other are asked for at once.
void enqueue_nodes(Lock& lock, Context& context, const StreamPtr& stream,
                   const std::vector<GraphNode>& nodes) {
  std::vector<AddressedCopy> copies;
  const auto enqueue_all = [&] {
    if (!copies.empty()) enqueue_copies(lock, context, stream, copies);
    copies.clear();
  };
  for (const GraphNode& node : nodes) {
    if (!node.kernel) {
      copies.push_back(node.copy);
      continue;
    }
    enqueue_all();
    enqueue_launch(lock, context, stream, node.kernel);
  }
  enqueue_all();
}

/// One row of bytes: the only kind of copy in this driver's graphs.
AddressedCopy row_of(const CUDA_MEMCPY3D& parameters) {
  require(parameters.Height == 1 && parameters.Depth == 1, CUDA_ERROR_NOT_SUPPORTED);
  require(
      parameters.srcY == 0 && parameters.srcZ == 0 && parameters.dstY == 0 && parameters.dstZ == 0,
      CUDA_ERROR_NOT_SUPPORTED);
  return {address_in(parameters.dstMemoryType, parameters.dstHost, parameters.dstDevice) +
              parameters.dstXInBytes,
          address_in(parameters.srcMemoryType, parameters.srcHost, parameters.srcDevice) +
              parameters.srcXInBytes,
          parameters.WidthInBytes};
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  return Call("cuStreamBeginCapture")([&] {
    Context& context = current_context();
    require(is_mode(mode));
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    require(stream != context.default_stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    require_not_captured(lock, stream);
    machine().captures.push_back({stream, mode, std::this_thread::get_id(), false, {}});
    return CUDA_SUCCESS;
  });
}

// The legacy default stream can't be queried while a stream that waits for it is captured; the
// capture stays valid. Seen with driver 580.
CUresult CUDAAPI cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return Call("cuStreamIsCapturing")([&] {
    Context& context = current_context();
    require(status != nullptr);
    Lock lock = lock_machine();
    const auto& captures = machine().captures;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (is_default_handle(handle)) {
      const bool waits = std::ranges::any_of(captures, [&](const StreamCapture& capture) {
        return default_stream_waits(capture, context);
      });
      return waits ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
    }
    const StreamPtr stream = find_stream(lock, context, handle);
    const auto found = std::ranges::find(captures, stream, &StreamCapture::stream);
    if (found != captures.end())
      *status = found->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return Call("cuStreamEndCapture")([&] {
    Context& context = current_context();
    require(graph != nullptr);
    *graph = nullptr;
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, handle);
    auto& captures = machine().captures;
    const auto found = std::ranges::find(captures, stream, &StreamCapture::stream);
    require(found != captures.end(), CUDA_ERROR_ILLEGAL_STATE);
    const bool own = found->thread == std::this_thread::get_id() ||
                     found->mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    require(own, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    const StreamCapture ended = std::move(*found);
    captures.erase(found);
    require(!ended.invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    *graph = machine().graphs.add(std::make_shared<Graph>(Graph{nullptr, ended.nodes}));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return Call("cuThreadExchangeStreamCaptureMode")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    require(mode != nullptr && is_mode(*mode));
    std::swap(*mode, thread_mode);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphCreate(CUgraph* handle, unsigned int flags) {
  return Call("cuGraphCreate")([&] {
    require(machine().initialised, CUDA_ERROR_NOT_INITIALIZED);
    require(handle != nullptr && flags == 0);
    const Lock lock = lock_machine();
    *handle = machine().graphs.add(std::make_shared<Graph>());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphDestroy(CUgraph handle) {
  return Call("cuGraphDestroy")([&] {
    const Lock lock = lock_machine();
    machine().graphs.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph handle,
                                      const CUgraphNode* dependencies, std::size_t num_dependencies,
                                      const CUDA_MEMCPY3D* parameters, CUcontext) {
  return Call("cuGraphAddMemcpyNode")([&] {
    current_context();
    require(node != nullptr && parameters != nullptr);
    require(dependencies != nullptr || num_dependencies == 0);
    Lock lock = lock_machine();
    Graph& graph = *machine().graphs.find(handle);
    for (std::size_t i = 0; i < num_dependencies; ++i) require(is_node_of(graph, dependencies[i]));
    const AddressedCopy copy = row_of(*parameters);
    require_copyable(lock, copy);
    graph.nodes.push_back({copy, {}});
    *node = node_at(graph.nodes.size() - 1);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* handle, CUgraph graph,
                                             unsigned long long flags) {
  return Call("cuGraphInstantiateWithFlags")([&] {
    Context& context = current_context();
    require(handle != nullptr && flags == 0);
    const Lock lock = lock_machine();
    auto executable = std::make_shared<Graph>(*machine().graphs.find(graph));
    executable->context = &context;
    *handle = machine().executable_graphs.add(std::move(executable));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec handle) {
  return Call("cuGraphExecDestroy")([&] {
    const Lock lock = lock_machine();
    machine().executable_graphs.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  Call call("cuGraphLaunch");
  return call([&] {
    Context& context = current_context();
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, stream_handle);
    const Graph& graph = *machine().executable_graphs.find(handle);
    require(graph.context == &context, CUDA_ERROR_INVALID_CONTEXT);
    call.note("copies", graph.nodes.size()).note("stream", stream->number);
    for (const GraphNode& node : graph.nodes)
      if (!node.kernel) require_copyable(lock, node.copy);
    enqueue_nodes(lock, context, stream, graph.nodes);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
