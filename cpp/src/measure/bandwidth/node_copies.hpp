// Bandwidth with thread and host memory on one NUMA node, wherever the device hangs.
#pragma once

#include <map>
#include <vector>

#include "measure/bandwidth/bandwidth.hpp"
#include "measure/loops/copy_buffers.hpp"

namespace isthmus::measure {

/// Where the CPU's side of a measurement is to be.
struct NodePlace {
  int node = 0;
  std::vector<int> cpus;  ///< of the node, that this process may use
};

struct NodeCopyOptions {
  NodePlace place;
  std::size_t num_nodes = 1;  ///< that the host has: with one, memory lies where it can
  HostMemory memory = HostMemory::pinned;
  BandwidthOptions copy;
};

/// Runs measure_bandwidth on the node's CPUs with host memory on that node, and only if both are
/// so. The thread's CPUs are as before when it returns. The pages' nodes are in the measurement.
///
/// Throws      UsageError (no such node); Unavailable where none of its CPUs may be used, or memory
///             lies elsewhere, or nobody can tell where; what measure_bandwidth throws.
Measurement measure_node_bandwidth(const Context& context, const Kernels* kernels,
                                   const NodeCopyOptions& options);

/// Makes sure that memory lies on a node.
///
/// pages_by_node   as host::pages_by_node gives them
/// Throws          Unavailable where more than one page in twenty lies elsewhere, or nothing is
///                 known and there are several nodes.
void require_pages_on(int node, const std::map<int, std::size_t>& pages_by_node,
                      std::size_t num_nodes);

}  // namespace isthmus::measure
