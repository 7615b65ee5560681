// The measuring loops of suites numa and multi. Each releases the GIL while it runs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "measure/bandwidth/concurrent_flows.hpp"
#include "measure/bandwidth/host_flow.hpp"
#include "measure/bandwidth/node_copies.hpp"
#include "measure/bandwidth/peer_flow.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;
using measure::Measurement;
using measure::Stopping;

namespace {

constexpr Word<measure::Engine> kEngines[] = {
    {"copy_engine", measure::Engine::copy_engine},
    {"multiprocessors", measure::Engine::multiprocessors}};
constexpr Word<measure::PeerRole> kRoles[] = {{"read", measure::PeerRole::read},
                                              {"write", measure::PeerRole::write}};
constexpr Word<measure::HostMemory> kNodeMemory[] = {{"pinned", measure::HostMemory::pinned},
                                                     {"pageable", measure::HostMemory::pageable}};

/// Flows and their sources. Python keeps buffers and kernels alive meanwhile.
class FlowGroup {
public:
  void add_host(const SharedBuffers& buffers, const SharedKernels* kernels,
                const std::string& direction, std::size_t size_bytes, const std::string& by) {
    add(std::make_unique<measure::HostFlow>(
            *buffers, kernels_of(kernels),
            measure::HostFlowOptions{value_of(kDirections, direction, "direction"), size_bytes,
                                     value_of(kEngines, by, "engine")}),
        kernels_of(kernels));
  }
  void add_peer(const SharedContext& source, const SharedKernels* source_kernels,
                const SharedContext& target, const SharedKernels* target_kernels,
                std::size_t size_bytes, const std::string& role, const std::string& by) {
    const measure::PeerRole known = value_of(kRoles, role, "role");
    add(std::make_unique<measure::PeerFlow>(
            measure::PeerEnd{*source, kernels_of(source_kernels)},
            measure::PeerEnd{*target, kernels_of(target_kernels)},
            measure::PeerOptions{known, value_of(kEngines, by, "engine"), size_bytes}),
        kernels_of(known == measure::PeerRole::read ? target_kernels : source_kernels));
  }

  std::size_t size() const { return members_.size(); }
  Measurement measure_one(std::size_t index, const Stopping& stopping) const {
    if (index >= members_.size()) throw isthmus::UsageError("no such flow in the group");
    return measure::measure_flow(members_[index], {.stopping = stopping});
  }
  Measurement measure_under_load(std::size_t index, const Stopping& stopping) const {
    return measure::measure_under_load(members_, index, {.stopping = stopping});
  }
  Measurement measure_aggregate(const Stopping& stopping, const std::string& metric) const {
    return measure::measure_aggregate(members_, {.stopping = stopping}, metric.c_str());
  }

private:
  void add(std::unique_ptr<measure::Flow> flow, const isthmus::Kernels* kernels) {
    members_.push_back({flow.get(), kernels});
    flows_.push_back(std::move(flow));
  }

  std::vector<std::unique_ptr<measure::Flow>> flows_;
  std::vector<measure::FlowUnderTest> members_;
};
using SharedFlows = Unlocked<FlowGroup>;

Measurement node_bandwidth(const SharedContext& context, const SharedKernels* kernels, int node,
                           const std::vector<int>& cpus, std::size_t num_nodes,
                           const std::string& host_memory, const std::string& direction,
                           std::size_t size_bytes, const Stopping& stopping) {
  measure::NodeCopyOptions options;
  options.place = {node, cpus};
  options.num_nodes = num_nodes;
  options.memory = value_of(kNodeMemory, host_memory, "host memory");
  options.copy.direction = value_of(kDirections, direction, "direction");
  options.copy.size_bytes = size_bytes;
  options.copy.blocked = options.memory == measure::HostMemory::pinned;
  options.copy.stopping = stopping;
  return measure::measure_node_bandwidth(*context, kernels_of(kernels), options);
}

void bind_group(nb::module_& m) {
  nb::class_<SharedFlows>(m, "FlowGroup",
                          "Concurrent copies between host and devices, or between devices.")
      .def(
          "__init__", [](SharedFlows* self) { new (self) SharedFlows(FlowGroup()); }, Release())
      .def("__len__", [](const SharedFlows& group) { return group->size(); })
      .def(
          "add_host",
          [](const SharedFlows& group, const SharedBuffers& buffers, const SharedKernels* kernels,
             const std::string& direction, std::size_t size_bytes, const std::string& by) {
            group->add_host(buffers, kernels, direction, size_bytes, by);
          },
          "buffers"_a, "kernels"_a.none(), nb::kw_only(), "direction"_a, "size_bytes"_a,
          "by"_a = "copy_engine", nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), Release(),
          "Add copies between the host and device memory of pinned buffers.")
      .def(
          "add_peer",
          [](const SharedFlows& group, const SharedContext& source,
             const SharedKernels* source_kernels, const SharedContext& target,
             const SharedKernels* target_kernels, std::size_t size_bytes, const std::string& role,
             const std::string& by) {
            group->add_peer(source, source_kernels, target, target_kernels, size_bytes, role, by);
          },
          "source"_a, "source_kernels"_a.none(), "target"_a, "target_kernels"_a.none(),
          nb::kw_only(), "size_bytes"_a, "role"_a, "by"_a = "copy_engine", nb::keep_alive<1, 3>(),
          nb::keep_alive<1, 5>(), Release(),
          "Add copies from device to device, made by the reading or by the writing device.")
      .def(
          "measure_one",
          [](const SharedFlows& group, std::size_t index, const Stopping& stopping) {
            return group->measure_one(index, stopping);
          },
          "index"_a, nb::kw_only(), "stopping"_a, Release(),
          "Measure one flow by itself (\"copy_time\").")
      .def(
          "measure_under_load",
          [](const SharedFlows& group, std::size_t index, const Stopping& stopping) {
            return group->measure_under_load(index, stopping);
          },
          "index"_a, nb::kw_only(), "stopping"_a, Release(),
          "Measure one flow by itself (\"alone\") and while all others run (\"copy_time\").")
      .def(
          "measure_aggregate",
          [](const SharedFlows& group, const Stopping& stopping, const std::string& metric) {
            return group->measure_aggregate(stopping, metric);
          },
          nb::kw_only(), "stopping"_a, "metric"_a = "aggregate", Release(),
          "Measure all flows from a common start: all bytes over the time until the last one "
          "ends.");
}

}  // namespace

void bind_measure_flows(nb::module_& m) {
  bind_group(m);
  m.def("measure_node_bandwidth", &node_bandwidth, "context"_a, "kernels"_a.none(), nb::kw_only(),
        "node"_a, "cpus"_a, "num_nodes"_a, "host_memory"_a, "direction"_a, "size_bytes"_a,
        "stopping"_a, Release(),
        "Sample the time of one copy with thread and host memory on a NUMA node.");
}
