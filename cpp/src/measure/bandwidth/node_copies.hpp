// Bandwidth with thread and host memory on one NUMA node, whichever node the device is attached to.
#pragma once

#include <map>
#include <vector>

#include "measure/bandwidth/bandwidth.hpp"
#include "measure/loops/copy_buffers.hpp"

namespace isthmus::measure {

/// Where a measurement's thread and host memory are.
struct NodePlace {
  int node = 0;
  std::vector<int> cpus;  ///< the node's CPUs that this process may use
};

struct NodeCopyOptions {
  NodePlace place;
  std::size_t num_nodes = 1;  ///< of the host; with 1, the memory's node isn't checked
  HostMemory memory = HostMemory::pinned;
  BandwidthOptions copy;
};

/// Runs measure_bandwidth on the node's CPUs with host memory on that node, and only if both are
/// possible. Restores the thread's CPUs. The pages' nodes are in the measurement.
///
/// Throws      UsageError (no such node); Unavailable if none of its CPUs may be used, or memory is
///             elsewhere, or its node is unknown; what measure_bandwidth throws.
Measurement measure_node_bandwidth(const Context& context, const Kernels* kernels,
                                   const NodeCopyOptions& options);

/// Checks that memory is on a node.
///
/// pages_by_node   from host::pages_by_node
/// Throws          Unavailable if more than one page in twenty is elsewhere, or nothing is known
///                 and there are several nodes.
void require_pages_on(int node, const std::map<int, std::size_t>& pages_by_node,
                      std::size_t num_nodes);

}  // namespace isthmus::measure
