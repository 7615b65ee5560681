// The measuring loops. Each releases the GIL while it runs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "measure/bandwidth/bandwidth.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace measure = isthmus::measure;

namespace {

void bind_results(nb::module_& m) {
  using measure::Measurement;
  using measure::Samples;
  nb::class_<Samples>(m, "Samples", "The samples of one quantity.")
      .def_ro("metric", &Samples::metric)
      .def_ro("seconds", &Samples::seconds, "For one copy, in the order of measurement.")
      .def_ro("copies_per_sample", &Samples::copies_per_sample)
      .def_prop_ro(
          "stopped_by", [](const Samples& s) { return word_of(s.stopped_by); },
          "\"noise\", \"time\" or \"max_samples\".");
  nb::class_<Measurement>(m, "Measurement", "The results of one call of a measuring loop.")
      .def_ro("samples", &Measurement::samples)
      .def_ro("first_call_seconds", &Measurement::first_call_seconds)
      .def_ro("waived", &Measurement::waived, "Metric -> why it can't be measured here.")
      .def_ro("host_pages_by_node", &Measurement::host_pages_by_node,
              "NUMA node -> sampled pages of the host's memory; {} if the loop didn't check.")
      .def_ro("source_pages_by_node", &Measurement::source_pages_by_node,
              "The same of what a copy within the host reads.")
      .def_prop_ro(
          "verified_on", [](const Measurement& r) { return word_of(r.verified_on); },
          "\"device\", \"host\", or \"nobody\" if Stopping.verify was False.");
  nb::class_<measure::Stopping>(m, "Stopping", "When to stop sampling.")
      .def(
          "__init__",
          [](measure::Stopping* self, std::size_t min_samples, std::size_t max_samples,
             double max_seconds, double relative_iqr, bool verify) {
            new (self)
                measure::Stopping{min_samples, max_samples, max_seconds, relative_iqr, verify};
          },
          nb::kw_only(), "min_samples"_a = 5, "max_samples"_a = 1000, "max_seconds"_a = 0.5,
          "relative_iqr"_a = 0.01, "verify"_a = true);
}

void bind_buffers(nb::module_& m) {
  nb::class_<SharedBuffers>(m, "CopyBuffers",
                            "One host buffer and one device buffer of the same size.")
      .def(
          "__init__",
          [](SharedBuffers* self, const SharedContext& context, const std::string& host_memory,
             std::size_t size_bytes, std::optional<int> numa_node, const std::string& device_memory,
             const std::string& contents, std::size_t host_offset_bytes,
             std::size_t device_offset_bytes) {
            const measure::BufferKinds kinds{
                value_of<measure::HostMemory>(host_memory, "host memory"),
                value_of<measure::DeviceMemory>(device_memory, "device memory"),
                value_of<measure::Contents>(contents, "contents"),
                host_offset_bytes,
                device_offset_bytes,
                numa_node};
            new (self) SharedBuffers(measure::CopyBuffers(*context, size_bytes, kinds));
          },
          "context"_a, nb::kw_only(), "host_memory"_a, "size_bytes"_a, "numa_node"_a = nb::none(),
          "device_memory"_a = "device", "contents"_a = "random", "host_offset_bytes"_a = 0,
          "device_offset_bytes"_a = 0, Release())
      .def_prop_ro(
          "host_pages_by_node",
          [](const SharedBuffers& buffers) { return buffers->host_pages_by_node(); },
          "NUMA node -> number of sampled pages; {} if the kernel can't tell.");
}

void copy_load(const SharedBuffers& buffers, const std::string& direction, double seconds) {
  measure::run_copy_load(*buffers, value_of<measure::Direction>(direction, "direction"),
                         std::chrono::duration<double>(seconds));
}

}  // namespace

void bind_measure(nb::module_& m) {
  bind_results(m);
  bind_buffers(m);
  m.def("run_copy_load", &copy_load, "buffers"_a, nb::kw_only(), "direction"_a, "seconds"_a,
        Release(), "Keep the link busy for some seconds.");
}
