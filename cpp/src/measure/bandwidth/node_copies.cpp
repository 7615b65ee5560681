#include "measure/bandwidth/node_copies.hpp"

#include <cmath>

#include <isthmus/errors.hpp>

#include "host/cpu/cpu_list.hpp"

namespace isthmus::measure {
namespace {

/// A few pages belong to other memory, or were placed elsewhere when the node was full.
constexpr double kMaxStray = 0.05;

std::string capability(int node) { return "NUMA node " + std::to_string(node); }

/// Binds the calling thread to some CPUs while this lives.
class [[nodiscard]] BoundThread {
public:
  /// Throws Unavailable if the kernel refuses.
  explicit BoundThread(const NodePlace& place) : previous_(host::allowed_cpus()) {
    if (!place.cpus.empty() && host::allow_cpus(place.cpus)) return;
    throw Unavailable(capability(place.node), "this process may use none of its CPUs",
                      "a CPU set that includes the node");
  }
  ~BoundThread() { host::allow_cpus(previous_); }
  BoundThread(const BoundThread&) = delete;
  BoundThread& operator=(const BoundThread&) = delete;

private:
  std::vector<int> previous_;
};

}  // namespace

void require_pages_on(int node, const std::map<int, std::size_t>& pages_by_node,
                      std::size_t num_nodes) {
  if (num_nodes <= 1) return;
  std::size_t num_pages = 0;
  for (const auto& [where, count] : pages_by_node) num_pages += count;
  if (num_pages == 0) {
    throw Unavailable(capability(node), "the kernel doesn't say where pages lie",
                      "a process that may call move_pages");
  }
  const auto found = pages_by_node.find(node);
  const std::size_t num_there = found == pages_by_node.end() ? 0 : found->second;
  const double stray = static_cast<double>(num_pages - num_there) / static_cast<double>(num_pages);
  if (stray <= kMaxStray) return;
  throw Unavailable(capability(node),
                    std::to_string(std::lround(stray * 100)) +
                        " % of the pages that were to be there lie on other nodes",
                    "free memory on the node, and a process that may call set_mempolicy");
}

Measurement measure_node_bandwidth(const Context& context, const Kernels* kernels,
                                   const NodeCopyOptions& options) {
  const BoundThread bound(options.place);
  CopyBuffers buffers(context, options.memory, options.copy.size_bytes, options.place.node);
  buffers.prepare(kernels);
  const std::map<int, std::size_t> pages = buffers.host_pages_by_node();
  require_pages_on(options.place.node, pages, options.num_nodes);
  Measurement measurement = measure_bandwidth(buffers, kernels, options.copy);
  measurement.host_pages_by_node = pages;
  return measurement;
}

}  // namespace isthmus::measure
