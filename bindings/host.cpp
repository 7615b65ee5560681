// The host side for Python: facts about the machine the process runs on, as plain values.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bindings/text.hpp"
#include "host/cpu/cgroup.hpp"
#include "host/cpu/clock.hpp"
#include "host/cpu/copy_instructions.hpp"
#include "host/cpu/cpu_list.hpp"
#include "host/cpu/topology.hpp"
#include "host/memory/memory_limits.hpp"
#include "host/system/pci.hpp"
#include "host/system/virtualization.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace host = isthmus::host;

namespace {

void bind_topology(nb::module_& m) {
  nb::class_<host::NumaNode>(m, "NumaNode",
                             "One NUMA node of the host: CPUs and their local memory.")
      .def_ro("node", &host::NumaNode::id)
      .def_ro("cpus", &host::NumaNode::cpus)
      .def_ro("memory_bytes", &host::NumaNode::memory_bytes);
  nb::class_<host::IommuGroup>(m, "IommuGroup", "The IOMMU group of a PCI device.")
      .def_ro("id", &host::IommuGroup::id)
      .def_ro("type", &host::IommuGroup::type);
  m.def("numa_nodes", [] { return host::numa_nodes(); });
  m.def(
      "pci_numa_node", [](const std::string& address) { return host::pci_numa_node(address); },
      "pci_address"_a);
  m.def("num_iommu_groups", [] { return host::num_iommu_groups(); });
  m.def(
      "iommu_group", [](const std::string& address) { return host::iommu_group(address); },
      "pci_address"_a);
}

void bind_cpus(nb::module_& m) {
  m.def("allowed_cpus", &host::allowed_cpus);
  m.def("bind_thread_to_node", &host::bind_thread_to_node, "node"_a);
  m.def("cpu_quota_cores", [] { return host::cpu_quota_cores(); });
  m.def("effective_cores", [] { return host::effective_cores(); });
  m.def("copy_instructions",
        [] { return host::copy_instruction_names(host::copy_instructions()); });
  m.def("timer_overhead_ns", &host::timer_overhead_ns);
}

void bind_memory(nb::module_& m) {
  nb::class_<host::HugePagePool>(m, "HugePagePool", "The reserved huge pages of one size.")
      .def_ro("page_bytes", &host::HugePagePool::page_bytes)
      .def_ro("num_pages", &host::HugePagePool::num_pages)
      .def_ro("num_free_pages", &host::HugePagePool::num_free_pages);
  nb::class_<host::HugePages>(m, "HugePages", "Which huge pages the kernel offers.")
      .def_ro("base_page_bytes", &host::HugePages::base_page_bytes)
      .def_ro("transparent", &host::HugePages::transparent)
      .def_ro("pools", &host::HugePages::pools);
  nb::class_<host::MemoryLimits>(m, "MemoryLimits",
                                 "How much memory this process may use and lock.")
      .def_ro("total_bytes", &host::MemoryLimits::total_bytes)
      .def_ro("available_bytes", &host::MemoryLimits::available_bytes)
      .def_ro("cgroup_limit_bytes", &host::MemoryLimits::cgroup_limit_bytes)
      .def_ro("memlock_bytes", &host::MemoryLimits::memlock_bytes);
  m.def("huge_pages", [] { return host::huge_pages(); });
  m.def("memory_limits", [] { return host::memory_limits(); });
}

void bind_virtualization(nb::module_& m) {
  nb::class_<host::Virtualization>(m, "Virtualization", "Virtual machine and container, if any.")
      .def_ro("virtual_machine", &host::Virtualization::virtual_machine)
      .def_ro("hypervisor", &host::Virtualization::hypervisor)
      .def_ro("system_vendor", &host::Virtualization::system_vendor)
      .def_ro("product_name", &host::Virtualization::product_name)
      .def_ro("container", &host::Virtualization::container);
  m.def("virtualization", [] { return host::virtualization(); });
}

}  // namespace

void bind_host(nb::module_& m) {
  bind_topology(m);
  bind_cpus(m);
  bind_memory(m);
  bind_virtualization(m);
}
