#include "device/link_copies.hpp"

#include <isthmus/errors.hpp>

namespace isthmus {
namespace {

std::span<const LinkCopy> checked(std::span<const LinkCopy> copies) {
  if (copies.empty()) throw UsageError("a batch or a graph of copies needs at least one copy");
  return copies;
}

/// Pinned memory has the same address for host and device: unified addressing.
CUdeviceptr address_of(const std::byte* host) { return reinterpret_cast<CUdeviceptr>(host); }

CUDA_MEMCPY3D parameters_of(const LinkCopy& copy) {
  // Both memory types are set below; the enum has no value 0.
  // NOLINTNEXTLINE(bugprone-invalid-enum-default-initialization)
  CUDA_MEMCPY3D parameters{};
  parameters.srcMemoryType = copy.to_device ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  parameters.dstMemoryType = copy.to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  if (copy.to_device) {
    parameters.srcHost = copy.host;
    parameters.dstDevice = copy.device;
  } else {
    parameters.srcDevice = copy.device;
    parameters.dstHost = copy.host;
  }
  parameters.srcPitch = parameters.dstPitch = copy.size_bytes;
  parameters.srcHeight = parameters.dstHeight = 1;
  parameters.WidthInBytes = copy.size_bytes;
  parameters.Height = 1;
  parameters.Depth = 1;
  return parameters;
}

Owned<CUgraph> make_graph(const Context& context, std::span<const LinkCopy> copies,
                          CopyGraph::Order order) {
  const Driver& driver = context.driver();
  CUgraph graph = nullptr;
  driver.call(symbol::graph_create)(&graph, 0U);
  Owned<CUgraph> owned{context, graph, driver.raw(symbol::graph_destroy),
                       symbol::graph_destroy.name};
  CUgraphNode last = nullptr;
  for (const LinkCopy& copy : copies) {
    const bool waits = order == CopyGraph::Order::given && last != nullptr;
    const CUDA_MEMCPY3D parameters = parameters_of(copy);
    CUgraphNode node = nullptr;
    driver.call(symbol::graph_add_memcpy_node)(&node, graph, waits ? &last : nullptr,
                                               std::size_t{waits ? 1U : 0U}, &parameters,
                                               context.handle());
    last = node;
  }
  return owned;
}

Owned<CUgraphExec> make_executable(const Context& context, std::span<const LinkCopy> copies,
                                   CopyGraph::Order order) {
  const CurrentContext current(context);
  const Driver& driver = context.driver();
  const Owned<CUgraph> graph = make_graph(context, checked(copies), order);
  CUgraphExec executable = nullptr;
  driver.call(symbol::graph_instantiate)(&executable, graph.handle(), 0ULL);
  return {context, executable, driver.raw(symbol::graph_exec_destroy),
          symbol::graph_exec_destroy.name};
}

PFN_cuMemcpyBatchAsync_v12080 batch_function(const Driver& driver) {
  if (!driver.has(symbol::memcpy_batch_async)) {
    throw Unavailable("cuMemcpyBatchAsync",
                      "this driver implements CUDA " + version_text(driver.version()),
                      "a driver for CUDA 12.8 or later");
  }
  return driver.raw(symbol::memcpy_batch_async);
}

}  // namespace

CopyBatch::CopyBatch(const Context& context, std::span<const LinkCopy> copies)
    : function_(batch_function(context.driver())), context_(context) {
  for (const LinkCopy& copy : checked(copies)) {
    targets_.push_back(copy.to_device ? copy.device : address_of(copy.host));
    sources_.push_back(copy.to_device ? address_of(copy.host) : copy.device);
    sizes_.push_back(copy.size_bytes);
  }
}

void CopyBatch::enqueue(CUstream stream, CUmemcpySrcAccessOrder order) const {
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = order;
  std::size_t first_copy = 0;
  std::size_t failed = 0;
  context_.driver().check(function_(targets_.data(), sources_.data(), sizes_.data(), sizes_.size(),
                                    &attributes, &first_copy, 1, &failed, stream),
                          symbol::memcpy_batch_async.name);
}

CopyGraph::CopyGraph(const Context& context, std::span<const LinkCopy> copies, Order order)
    : executable_(make_executable(context, copies, order)) {}

void CopyGraph::enqueue(CUstream stream) const {
  executable_.context().driver().call(symbol::graph_launch)(executable_.handle(), stream);
}

}  // namespace isthmus
