// Measures memory that crosses the link without a copy call: managed memory, and loads by kernels.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "measure/latency/pointer_chase.hpp"
#include "measure/memory/managed_memory.hpp"
#include "measure/memory/page_faults.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;

namespace {

constexpr Word<measure::ManagedWay> kManagedWays[] = {
    {"demand", measure::ManagedWay::demand},
    {"demand_random", measure::ManagedWay::demand_random},
    {"thrashing", measure::ManagedWay::thrashing},
    {"thrashing_random", measure::ManagedWay::thrashing_random},
    {"prefetched", measure::ManagedWay::prefetched},
    {"advised", measure::ManagedWay::advised}};
constexpr Word<measure::ChaseOrder> kChaseOrders[] = {{"strided", measure::ChaseOrder::strided},
                                                      {"random", measure::ChaseOrder::random}};

measure::Measurement managed(const SharedContext& context, const SharedKernels* kernels,
                             const std::string& direction, const std::string& way,
                             std::size_t size_bytes, const measure::Stopping& stopping) {
  return measure::measure_managed(
      *context, kernels_of(kernels),
      {value_of(kDirections, direction, "direction"),
       value_of(kManagedWays, way, "way of managed memory"), size_bytes, stopping});
}

measure::Measurement pointer_chase(const SharedContext& context, const SharedKernels* kernels,
                                   std::size_t size_bytes, const std::string& order,
                                   std::optional<int> numa_node,
                                   const measure::Stopping& stopping) {
  return measure::measure_pointer_chase(
      *context, kernels_of(kernels),
      {size_bytes, value_of(kChaseOrders, order, "order"), numa_node, stopping});
}

measure::Measurement page_faults(const SharedContext& context, const SharedKernels* kernels,
                                 std::size_t num_pages, const measure::Stopping& stopping) {
  return measure::measure_page_faults(*context, kernels_of(kernels), {num_pages, stopping});
}

}  // namespace

void bind_measure_memory(nb::module_& m) {
  m.attr("MAX_MANAGED_BYTES") = measure::kMaxManagedBytes;
  m.def("measure_managed", &managed, "context"_a, "kernels"_a.none(), nb::kw_only(), "direction"_a,
        "way"_a, "size_bytes"_a, "stopping"_a, Release(),
        "Sample the time in which managed memory moves to the other side (metric \"copy_time\").");
  m.def("measure_page_faults", &page_faults, "context"_a, "kernels"_a.none(), nb::kw_only(),
        "num_pages"_a, "stopping"_a, Release(),
        "Sample the time of one fault of managed memory (\"device_fault\", \"host_fault\").");
  m.def("measure_pointer_chase", &pointer_chase, "context"_a, "kernels"_a.none(), nb::kw_only(),
        "size_bytes"_a, "order"_a, "numa_node"_a = nb::none(), "stopping"_a, Release(),
        "Sample the time of one load of host memory by a kernel (metric \"access_latency\").");
}
