// The costs of memory, and copies within host memory. Each loop releases the GIL while it runs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "measure/bandwidth/host_memcpy.hpp"
#include "measure/memory/allocation_cost.hpp"
#include "measure/memory/memory_life.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;
using measure::AllocationKind;
using measure::HostMemory;
using measure::HostStores;

namespace {

constexpr Word<AllocationKind> kAllocations[] = {
    {"heap", AllocationKind::heap},
    {"mapping", AllocationKind::mapping},
    {"pinned", AllocationKind::pinned},
    {"write_combined", AllocationKind::write_combined},
    {"registered", AllocationKind::registered},
    {"registered_heap", AllocationKind::registered_heap},
    {"huge_pinned", AllocationKind::huge_pinned},
    {"pooled", AllocationKind::pooled},
    {"device", AllocationKind::device},
    {"pitched", AllocationKind::pitched},
    {"pitched_3d", AllocationKind::pitched_3d},
    {"array", AllocationKind::array},
    {"array_3d", AllocationKind::array_3d},
    {"managed", AllocationKind::managed},
    {"stream_ordered", AllocationKind::stream_ordered},
    {"stream_ordered_kept", AllocationKind::stream_ordered_kept},
    {"virtual_memory", AllocationKind::virtual_memory}};
constexpr Word<HostMemory> kLives[] = {{"pageable", HostMemory::pageable},
                                       {"pinned", HostMemory::pinned},
                                       {"registered", HostMemory::registered},
                                       {"huge_pinned", HostMemory::huge_pinned}};
constexpr Word<HostStores> kStores[] = {{"libc", HostStores::libc},
                                        {"cached", HostStores::cached},
                                        {"streaming", HostStores::streaming}};

measure::Measurement allocation(const SharedContext& context, const std::string& kind, bool touched,
                                bool copied, std::size_t size_bytes, std::size_t num_live,
                                const measure::Stopping& stopping) {
  return measure::measure_allocation(
      *context, {value_of(kAllocations, kind, "kind of allocation"),
                 touched ? measure::Touch::touched : measure::Touch::untouched, size_bytes,
                 num_live, stopping, copied});
}

measure::Measurement life(const SharedContext& context, const SharedKernels* kernels,
                          const std::string& host_memory, std::size_t size_bytes,
                          std::optional<int> numa_node, const measure::Stopping& stopping) {
  return measure::measure_memory_life(
      *context, kernels_of(kernels),
      {value_of(kLives, host_memory, "host memory"), size_bytes, numa_node, stopping});
}

std::pair<measure::Measurement, std::map<int, std::size_t>> host_memcpy(
    const std::string& stores, std::size_t size_bytes, int num_threads,
    std::optional<int> source_node, std::optional<int> target_node,
    const measure::Stopping& stopping) {
  const auto found = measure::measure_host_memcpy(
      {size_bytes, num_threads, source_node, target_node,
       measure::host_copy_by(value_of(kStores, stores, "way to store")), stopping});
  return {found.measurement, found.source_pages_by_node};
}

}  // namespace

void bind_measure_alloc(nb::module_& m) {
  m.def("measure_allocation", &allocation, "context"_a, nb::kw_only(), "kind"_a, "touched"_a,
        "copied"_a = false, "size_bytes"_a, "num_live"_a, "stopping"_a, Release(),
        "Sample allocating and freeing memory of one kind; `copied`: with a copy in between.");
  m.def("measure_memory_life", &life, "context"_a, "kernels"_a.none(), nb::kw_only(),
        "host_memory"_a, "size_bytes"_a, "numa_node"_a.none(), "stopping"_a, Release(),
        "Sample the life of host buffers: allocate, copy up and down, free.");
  m.def("measure_host_memcpy", &host_memcpy, nb::kw_only(), "stores"_a, "size_bytes"_a,
        "num_threads"_a, "source_node"_a.none(), "target_node"_a.none(), "stopping"_a, Release(),
        "Sample copies within host memory (metric \"copy_time\"), and the source's pages by node.");
}
