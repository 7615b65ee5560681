// What traces are made of: the list of workloads (their traces: TraceSource.of_workload()), and
// Accel-Sim's text, imported as blocks.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/transfer/host_bytes.hpp"
#include "trace/accelsim_kernel.hpp"
#include "workloads/registry.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace trace = isthmus::trace;
using trace::AccelSimKernel;

namespace {

std::size_t feed(AccelSimKernel& kernel, nb::handle text) {
  const HostBytes bytes(text, HostBytes::Access::readable);
  const GilReleased released;
  return kernel.feed({static_cast<const char*>(bytes.data()), bytes.size_bytes()});
}

template <typename Item>
nb::object view(std::span<const Item> items, nb::handle owner) {
  return nb::cast(
      nb::ndarray<nb::numpy, const Item, nb::ndim<1>>(items.data(), {items.size()}, owner));
}

/// The block's number of CTAs and its arrays; the next block overwrites them.
nb::tuple block_of(nb::handle self) {
  const trace::Block block = nb::cast<const AccelSimKernel&>(self).block();
  return nb::make_tuple(block.first_cta, block.num_ctas, view(block.op_begin, self),
                        view(block.kinds, self), view(block.compute, self),
                        view(block.line_begin, self), view(block.lines, self));
}

void bind_counts(nb::module_& m) {
  using trace::ImportCounts;
  nb::class_<ImportCounts>(m, "ImportCounts", "The counters of an import.")
      .def_ro("instructions", &ImportCounts::instructions)
      .def_ro("thread_instructions", &ImportCounts::thread_instructions)
      .def_ro("memory_operations", &ImportCounts::memory_operations)
      .def_ro("local_operations", &ImportCounts::local_operations)
      .def_ro("zero_loads", &ImportCounts::zero_loads)
      .def_ro("texture_accesses", &ImportCounts::texture_accesses)
      .def_ro("constant_accesses", &ImportCounts::constant_accesses)
      .def_ro("bulk_copies", &ImportCounts::bulk_copies)
      .def_ro("copies_to_shared", &ImportCounts::copies_to_shared)
      .def_ro("half_copies", &ImportCounts::half_copies)
      .def_ro("unplaced_generic", &ImportCounts::unplaced_generic)
      .def_ro("unplaced_lanes", &ImportCounts::unplaced_lanes)
      .def_ro("unknown_accesses", &ImportCounts::unknown_accesses)
      .def_ro("missing_ctas", &ImportCounts::missing_ctas)
      .def_ro("absent_lines", &ImportCounts::absent_lines)
      .def_ro("unknown_gpus", &ImportCounts::unknown_gpus);
}

}  // namespace

void bind_trace_import(nb::module_& m) {
  bind_counts(m);
  nb::class_<trace::TouchedLines>(m, "TouchedLines", "Which memory a trace touches.")
      .def(nb::init<>())
      .def("allocations", &trace::TouchedLines::allocations, "uploads"_a,
           "The allocations that the trace must have made.");
  nb::class_<AccelSimKernel>(m, "AccelSimKernel", "An Accel-Sim trace of one kernel, in pieces.")
      .def(nb::init<std::string, std::uint32_t, trace::TouchedLines&>(), "file"_a, "launch"_a,
           "touched"_a, nb::keep_alive<1, 4>())
      .def("feed", &feed, "text"_a, "Read until a block is full; returns how many bytes were read.")
      .def("finish", &AccelSimKernel::finish, nb::kw_only(), "missing_ctas_do_nothing"_a)
      .def_prop_ro("block_full", &AccelSimKernel::block_full)
      .def("block", &block_of,
           nb::sig("def block(self) -> tuple[int, int, numpy.typing.NDArray[numpy.uint32], "
                   "numpy.typing.NDArray[numpy.uint8], numpy.typing.NDArray[numpy.uint32], "
                   "numpy.typing.NDArray[numpy.uint32], numpy.typing.NDArray[numpy.uint64]]"),
           "First CTA, number of CTAs, and the arrays, which the next block overwrites.")
      .def("drop_block", &AccelSimKernel::drop_block)
      .def_prop_ro("launch", &AccelSimKernel::launch)
      .def_prop_ro("stream", [](const AccelSimKernel& k) { return k.header().stream; })
      .def_prop_ro("tracer_version",
                   [](const AccelSimKernel& k) { return k.header().tracer_version; })
      .def_prop_ro("counts", &AccelSimKernel::counts, nb::rv_policy::reference_internal);
}

using isthmus::workloads::NamedWorkload;
using isthmus::workloads::Size;

namespace {

void bind_size(nb::module_& m) {
  nb::class_<Size>(m, "WorkloadSize", "A size of a workload's input that can be chosen.")
      .def_ro("name", &Size::name)
      .def_ro("meaning", &Size::meaning)
      .def_ro("usual", &Size::usual, "The value if none is chosen.")
      .def_ro("in_bytes", &Size::in_bytes, "True for a size in bytes; else it is a count.")
      .def_ro("least", &Size::least)
      .def_ro("most", &Size::most)
      .def_prop_ro("allowed", &isthmus::workloads::allowed_text,
                   "The values that it can have, in words.");
}

}  // namespace

void bind_workloads(nb::module_& m) {
  bind_size(m);
  nb::class_<NamedWorkload>(m, "WorkloadInfo", "A program that the simulator can run.")
      .def_ro("name", &NamedWorkload::name)
      .def_ro("description", &NamedWorkload::description)
      .def_ro("synthetic", &NamedWorkload::synthetic,
              "Which input is invented that the original reads from a file; \"\" if none.")
      .def_ro("in_paper", &NamedWorkload::in_paper,
              "True for the ten programs of Zhang 2019: it names seven; three are a guess.")
      .def_ro("sizes", &NamedWorkload::sizes);
  m.def(
      "workloads",
      [] {
        const auto rows = isthmus::workloads::workloads();
        return std::vector<NamedWorkload>(rows.begin(), rows.end());
      },
      "All workloads, those of Zhang 2019 first.");
  m.def("check_workload", &isthmus::workloads::check_workload, "name"_a, "sizes"_a,
        "UsageError for an unknown name, or a size that isn't allowed; generates nothing.");
}
