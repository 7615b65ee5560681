// How copies would be made, and how they were made.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <isthmus/transfer.hpp>

#include <string>

#include "bindings/bindings.hpp"
#include "bindings/text.hpp"

namespace nb = nanobind;
using isthmus::CopyPlan;
using isthmus::PathCost;
using isthmus::PathShare;
using isthmus::PathUse;

namespace {

template <typename Class, typename Member>
auto path_name(Member Class::* member) {
  return [member](const Class& object) { return std::string(name_of(object.*member)); };
}

}  // namespace

void bind_copy_plans(nb::module_& m) {
  nb::class_<PathCost>(m, "PathCost", "What one path would cost.")
      .def_prop_ro("path", path_name(&PathCost::path))
      .def_ro("usable", &PathCost::usable)
      .def_ro("seconds", &PathCost::seconds,
              "Predicted, if usable, of copies that follow each other.")
      .def_ro("pause_seconds", &PathCost::pause_seconds, "What a copy takes longer after a pause.")
      .def_ro("reason", &PathCost::reason, "Why it isn't usable, or what the figure is based on.");
  nb::class_<CopyPlan>(m, "CopyPlan", "How a copy would be made.")
      .def_prop_ro("path", path_name(&CopyPlan::path), "If copies follow each other.")
      .def_prop_ro("path_after_pause", path_name(&CopyPlan::path_after_pause))
      .def_prop_ro("source", path_name(&CopyPlan::source))
      .def_prop_ro("target", path_name(&CopyPlan::target))
      .def_ro("device", &CopyPlan::device)
      .def_ro("costs", &CopyPlan::costs,
              "For every path, in the order in which they are preferred.")
      .def_ro("measured", &CopyPlan::measured)
      .def_ro("profile", &CopyPlan::profile);
  nb::class_<PathShare>(m, "PathShare", "How some of many copies would be made.")
      .def_prop_ro("path",
                   [](const PathShare& share) {
                     return share.by_cpu ? std::string("cpu") : std::string(name_of(share.path));
                   })
      .def_ro("num_copies", &PathShare::num_copies)
      .def_ro("size_bytes", &PathShare::size_bytes)
      .def_ro("seconds", &PathShare::seconds);
  nb::class_<PathUse>(m, "PathUse", "How one path was used so far.")
      .def_prop_ro("path", path_name(&PathUse::path))
      .def_ro("num_copies", &PathUse::num_copies)
      .def_ro("num_bytes", &PathUse::num_bytes)
      .def_ro("seconds", &PathUse::seconds)
      .def_ro("predicted_seconds", &PathUse::predicted_seconds);
}
