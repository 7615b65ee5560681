// The host, Driver (real or emulated), Context, DeviceFacts, Kernels.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "device/device_facts.hpp"
#include "driver/driver.hpp"
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

using isthmus::Driver;

void bind_driver(nb::module_& m) {
  nb::class_<Driver>(m, "Driver", "A loaded CUDA driver, real or emulated.")
      .def_static("open", &Driver::open, "source"_a = "", Release(),
                  "Open \"system\", \"emulated[:PROFILE]\" or a path; \"\" means $ISTHMUS_DRIVER, "
                  "or \"system\" if it isn't set.")
      .def_static(
          "open_or_absent", &Driver::open_or_absent, "source"_a = "", Release(),
          "As open(); where there is no driver, or a parent process has it, stand for it: only "
          "the host's memory can be copied.")
      .def("require_devices", &Driver::require_devices,
           "Raise Unavailable, which says why, if there is no device.")
      .def_prop_ro("version", &Driver::version,
                   "1000 * major + 10 * minor of the CUDA version it implements.")
      .def_prop_ro("path", &Driver::path, "The library file.")
      .def_prop_ro("emulated", &Driver::emulated,
                   "True for the emulated driver: every number from it is modelled.")
      .def_prop_ro("profile", &Driver::profile,
                   "The emulated driver's profile; \"\" for a real driver.")
      .def("missing_symbols", &Driver::missing_symbols,
           "Optional driver functions that this driver lacks.")
      .def("device_count", &Driver::device_count, Release(), "Number of CUDA devices; 0 if none.")
      .def("device", &isthmus::read_device_facts, "ordinal"_a, Release(),
           "Facts about one device.");
}

using isthmus::Context;
using isthmus::DeviceFacts;
using isthmus::Kernels;

namespace {

void bind_facts(nb::module_& m) {
  nb::class_<DeviceFacts>(m, "DeviceFacts", "What the driver says about one device.")
      .def_ro("ordinal", &DeviceFacts::ordinal)
      .def_ro("name", &DeviceFacts::name)
      .def_ro("uuid", &DeviceFacts::uuid, "GPU-8-4-4-4-12 in hex.")
      .def_ro("pci_address", &DeviceFacts::pci_address, "As sysfs spells it: 0000:01:00.0")
      .def_ro("compute_capability", &DeviceFacts::compute_capability)
      .def_ro("total_memory_bytes", &DeviceFacts::total_memory_bytes)
      .def_ro("num_multiprocessors", &DeviceFacts::num_multiprocessors)
      .def_ro("num_copy_engines", &DeviceFacts::num_copy_engines)
      .def_ro("l2_cache_bytes", &DeviceFacts::l2_cache_bytes)
      .def_ro("stream_memory_operations", &DeviceFacts::stream_memory_operations,
              "True if a stream can wait for a value in memory.");
}

void push(const SharedContext& context) {
  context->driver().call(isthmus::symbol::ctx_push_current)(context->handle());
}

void pop(const SharedContext& context) {
  CUcontext popped = nullptr;
  context->driver().call(isthmus::symbol::ctx_pop_current)(&popped);
}

void synchronize(const SharedContext& context) {
  const isthmus::CurrentContext current(*context);
  context->driver().call(isthmus::symbol::ctx_synchronize)();
}

void bind_context(nb::module_& m) {
  nb::class_<SharedContext>(m, "Context",
                            "A device's primary context, retained while this object lives.")
      .def(
          "__init__",
          [](SharedContext* self, const isthmus::Driver& driver, int ordinal) {
            new (self) SharedContext(Context::retain(driver, ordinal));
          },
          "driver"_a, "ordinal"_a, Release())
      .def_prop_ro("device", [](const SharedContext& context) { return context->device(); })
      .def(
          "__enter__",
          [](nb::object self) {
            push(nb::cast<const SharedContext&>(self));
            return self;
          },
          nb::sig("def __enter__(self) -> Context"), "Make the context current on this thread.")
      .def(
          "__exit__", [](const SharedContext& self, const nb::args& /*exception*/) { pop(self); },
          nb::sig("def __exit__(self, *exception: object) -> None"),
          "Make the previous context current again.")
      .def(
          "free_memory_bytes",
          [](const SharedContext& context) { return context->free_memory_bytes(); }, Release(),
          "Free device memory, in bytes.")
      .def("synchronize", &synchronize, Release(),
           "Wait until all work of the device is complete, in every stream.");
}

}  // namespace

void bind_device(nb::module_& m) {
  bind_facts(m);
  bind_context(m);
  nb::class_<SharedKernels>(m, "Kernels",
                            "The project's kernels for one context, compiled on demand.")
      .def(
          "__init__",
          [](SharedKernels* self, const SharedContext& context,
             const std::optional<std::string>& nvrtc, const std::string& cache_folder) {
            new (self) SharedKernels(Kernels(*context, {nvrtc.value_or(""), cache_folder}));
          },
          "context"_a, nb::kw_only(), "nvrtc"_a = nb::none(), "cache_folder"_a = "", Release(),
          "nvrtc: path of libnvrtc, or None to search. cache_folder: \"\" for no cache.")
      .def_prop_ro(
          "nvrtc_version", [](const SharedKernels& kernels) { return kernels->nvrtc_version(); },
          "\"13.0\"; \"\" on the emulated driver.")
      .def_prop_ro(
          "cache_refusal", [](const SharedKernels& kernels) { return kernels->cache_refusal(); },
          "Why compiled kernels aren't cached although they should be; \"\" if they are.");
  m.def(
      "kernel_cache_folder", [] { return isthmus::default_kernel_cache_folder().string(); },
      "The folder of compiled kernels: $XDG_CACHE_HOME/isthmus/kernels, or below $HOME/.cache; "
      "\"\" (no cache) for a user without a home directory.");
}
