// The list of workloads. Their traces: TraceSource.of_workload().
#include <nanobind/nanobind.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bindings.hpp"
#include "text.hpp"
#include "workloads/registry.hpp"

namespace nb = nanobind;
using isthmus::workloads::NamedWorkload;

void bind_workloads(nb::module_& m) {
  nb::class_<NamedWorkload>(m, "WorkloadInfo", "A program that the simulator can run.")
      .def_ro("name", &NamedWorkload::name)
      .def_ro("description", &NamedWorkload::description)
      .def_ro("synthetic", &NamedWorkload::synthetic,
              "Which input is invented that the original reads from a file; \"\" if none.")
      .def_ro("in_paper", &NamedWorkload::in_paper,
              "True for the ten programs of Zhang 2019: it names seven; three are a guess.");
  m.def(
      "workloads",
      [] {
        const auto rows = isthmus::workloads::workloads();
        return std::vector<NamedWorkload>(rows.begin(), rows.end());
      },
      "All workloads, those of Zhang 2019 first.");
}
