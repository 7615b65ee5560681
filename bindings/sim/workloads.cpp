// The list of workloads. Their traces: TraceSource.of_workload().
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/text.hpp"
#include "workloads/registry.hpp"

namespace nb = nanobind;
using isthmus::workloads::NamedWorkload;
using isthmus::workloads::Size;
using namespace nb::literals;

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
