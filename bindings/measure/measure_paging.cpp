// Runs the workloads of Zhang 2019 on a device, by each way in which their data gets there.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "measure/paging/paging.hpp"
#include "workloads/registry.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;
using isthmus::measure::PagingWay;
using isthmus::measure::PagingWorkload;

namespace {

using SharedPaging = Unlocked<PagingWorkload>;

PagingWorkload made(const SharedContext& context, const SharedKernels& kernels,
                    const std::string& workload, const isthmus::workloads::GivenSizes& sizes,
                    std::uint64_t seed) {
  return {*context, *kernels,
          std::make_unique<isthmus::workloads::HostRun>(
              isthmus::workloads::make_program(workload, seed, sizes))};
}

measure::Measurement measured(const SharedPaging& self, const std::string& way,
                              std::size_t unit_bytes, std::optional<std::uint64_t> budget_bytes,
                              const measure::Stopping& stopping) {
  isthmus::PagedOptions paged;
  paged.unit_bytes = unit_bytes;
  paged.budget_bytes = budget_bytes;
  return self->measure({value_of<PagingWay>(way, "way"), paged, stopping});
}

}  // namespace

void bind_measure_paging(nb::module_& m) {
  nb::class_<SharedPaging>(m, "PagingWorkload",
                           "A workload with its memory on the host, to run on a device.")
      .def(
          "__init__",
          [](SharedPaging* self, const SharedContext& context, const SharedKernels& kernels,
             const std::string& workload, const isthmus::workloads::GivenSizes& sizes,
             std::uint64_t seed) {
            new (self) SharedPaging(made(context, kernels, workload, sizes, seed));
          },
          "context"_a, "kernels"_a, "workload"_a, "sizes"_a, "seed"_a, Release(),
          "Generates its input, and runs it on the host.")
      .def_prop_ro(
          "memory_bytes", [](const SharedPaging& self) { return self->memory_bytes(); },
          "Of all its arrays.")
      .def_prop_ro(
          "uploaded_bytes", [](const SharedPaging& self) { return self->uploaded_bytes(); },
          "That its program copies to the device.")
      .def("measure", &measured, nb::kw_only(), "way"_a, "unit_bytes"_a, "budget_bytes"_a.none(),
           "stopping"_a, Release(),
           "Sample the time of the whole program (metric \"run\"), and compare its results.");
}
