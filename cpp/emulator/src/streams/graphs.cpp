// cuGraph*: graphs of memcpy nodes.
#include "streams/stream_capture.hpp"

#include "api/call.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

using NodeNumber = std::uintptr_t;

/// Nodes are numbered from 1 in the order in which they were added.
CUgraphNode node_at(std::size_t index) {
  return reinterpret_cast<CUgraphNode>(static_cast<NodeNumber>(index + 1));
}

bool is_node_of(const Graph& graph, CUgraphNode node) {
  const auto number = reinterpret_cast<NodeNumber>(node);
  return number >= 1 && number <= graph.copies.size();
}

CUdeviceptr address_in(CUmemorytype type, const void* host, CUdeviceptr device) {
  require(type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE ||
          type == CU_MEMORYTYPE_UNIFIED);
  return type == CU_MEMORYTYPE_HOST ? address_of(host) : device;
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
    graph.copies.push_back(copy);
    *node = node_at(graph.copies.size() - 1);
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
    call.note("copies", graph.copies.size()).note("stream", stream->number);
    for (const AddressedCopy& copy : graph.copies) require_copyable(lock, copy);
    enqueue_copies(lock, context, stream, graph.copies);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
