// Which workloads there are. Their traces: TraceSource.of_workload().
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
              "What is made up that the original has from a file; \"\" if nothing.")
      .def_ro("in_paper", &NamedWorkload::in_paper,
              "One of the paper's ten programs: seven that it names, three that are a guess.");
  m.def(
      "workloads",
      [] {
        const auto rows = isthmus::workloads::workloads();
        return std::vector<NamedWorkload>(rows.begin(), rows.end());
      },
      "All workloads, the paper's first.");
}
