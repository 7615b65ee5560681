// The measuring loops. Every one of them releases the GIL while it runs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "measure/bandwidth.hpp"
#include "measure/latency.hpp"
#include "unlocked.hpp"
#include "words.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;
using Release = nb::call_guard<nb::gil_scoped_release>;

namespace {

constexpr Word<measure::HostMemory> kHostMemory[] = {{"pinned", measure::HostMemory::pinned},
                                                     {"pageable", measure::HostMemory::pageable}};
constexpr Word<measure::Method> kMethods[] = {{"blocking", measure::Method::blocking},
                                              {"async", measure::Method::async}};
constexpr Word<measure::StoppedBy> kStoppedBy[] = {
    {"noise", measure::StoppedBy::noise},
    {"time", measure::StoppedBy::time},
    {"max_samples", measure::StoppedBy::max_samples}};
constexpr Word<measure::VerifiedOn> kVerifiedOn[] = {{"device", measure::VerifiedOn::device},
                                                     {"host", measure::VerifiedOn::host}};

void bind_results(nb::module_& m) {
  using measure::Measurement;
  using measure::Samples;
  nb::class_<Samples>(m, "Samples", "One quantity, sampled.")
      .def_ro("metric", &Samples::metric)
      .def_ro("seconds", &Samples::seconds, "For one copy, in the order taken.")
      .def_ro("copies_per_sample", &Samples::copies_per_sample)
      .def_prop_ro(
          "stopped_by", [](const Samples& s) { return word_of(kStoppedBy, s.stopped_by); },
          "\"noise\", \"time\" or \"max_samples\".");
  nb::class_<Measurement>(m, "Measurement", "What one call of a measuring loop found.")
      .def_ro("samples", &Measurement::samples)
      .def_ro("first_call_seconds", &Measurement::first_call_seconds)
      .def_ro("waived", &Measurement::waived, "Metric -> why it can't be measured here.")
      .def_prop_ro(
          "verified_on", [](const Measurement& r) { return word_of(kVerifiedOn, r.verified_on); },
          "\"device\" or \"host\".");
  nb::class_<measure::Stopping>(m, "Stopping", "When to stop sampling.")
      .def(
          "__init__",
          [](measure::Stopping* self, std::size_t min_samples, std::size_t max_samples,
             double max_seconds, double relative_iqr) {
            new (self) measure::Stopping{min_samples, max_samples, max_seconds, relative_iqr};
          },
          nb::kw_only(), "min_samples"_a = 5, "max_samples"_a = 1000, "max_seconds"_a = 0.5,
          "relative_iqr"_a = 0.01);
}

void bind_buffers(nb::module_& m) {
  nb::class_<SharedBuffers>(m, "CopyBuffers",
                            "One host buffer and one device buffer of the same size.")
      .def(
          "__init__",
          [](SharedBuffers* self, const SharedContext& context, const std::string& host_memory,
             std::size_t size_bytes, std::optional<int> numa_node) {
            new (self) SharedBuffers(
                measure::CopyBuffers(*context, value_of(kHostMemory, host_memory, "host memory"),
                                     size_bytes, numa_node));
          },
          "context"_a, nb::kw_only(), "host_memory"_a, "size_bytes"_a, "numa_node"_a = nb::none(),
          Release())
      .def_prop_ro(
          "host_pages_by_node",
          [](const SharedBuffers& buffers) { return buffers->host_pages_by_node(); },
          "NUMA node -> number of sampled pages; {} where the kernel can't say.");
}

measure::Measurement bandwidth(const SharedBuffers& buffers, const SharedKernels* kernels,
                               const std::string& direction, std::size_t size_bytes, bool blocked,
                               const measure::Stopping& stopping, double gate_timeout_seconds) {
  return measure::measure_bandwidth(
      *buffers, kernels_of(kernels),
      {value_of(kDirections, direction, "direction"), size_bytes, blocked, stopping,
       std::chrono::duration<double>(gate_timeout_seconds)});
}

measure::Measurement latency(const SharedBuffers& buffers, const SharedKernels* kernels,
                             const std::string& direction, const std::string& method,
                             std::size_t size_bytes, const measure::Stopping& stopping) {
  measure::LatencyOptions options;
  options.direction = value_of(kDirections, direction, "direction");
  options.method = value_of(kMethods, method, "method");
  options.size_bytes = size_bytes;
  options.stopping = stopping;
  return measure::measure_latency(*buffers, kernels_of(kernels), options);
}

void copy_load(const SharedBuffers& buffers, const std::string& direction, double seconds) {
  measure::run_copy_load(*buffers, value_of(kDirections, direction, "direction"),
                         std::chrono::duration<double>(seconds));
}

}  // namespace

void bind_measure(nb::module_& m) {
  bind_results(m);
  bind_buffers(m);
  m.def("measure_bandwidth", &bandwidth, "buffers"_a, "kernels"_a.none(), nb::kw_only(),
        "direction"_a, "size_bytes"_a, "blocked"_a, "stopping"_a, "gate_timeout_seconds"_a = 15.0,
        Release(), "Sample the time of one copy (metric \"copy_time\").");
  m.def("measure_latency", &latency, "buffers"_a, "kernels"_a.none(), nb::kw_only(), "direction"_a,
        "method"_a, "size_bytes"_a, "stopping"_a, Release(), "Sample the latencies of one copy.");
  m.def("run_copy_load", &copy_load, "buffers"_a, nb::kw_only(), "direction"_a, "seconds"_a,
        Release(), "Keep the link busy for some seconds.");
}
