// The measuring loops: each row of loops.inc, called by its name with values from Python. Each
// releases the GIL while it runs.
#include <concepts>
#include <tuple>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "measure/bandwidth/bandwidth.hpp"
#include "measure/bandwidth/block_copies.hpp"
#include "measure/bandwidth/host_memcpy.hpp"
#include "measure/bandwidth/many_copies.hpp"
#include "measure/bandwidth/overlap.hpp"
#include "measure/bandwidth/shaped_copies.hpp"
#include "measure/latency/latency.hpp"
#include "measure/memory/allocation_cost.hpp"
#include "measure/memory/managed_memory.hpp"
#include "measure/table/bench.hpp"
#include "measure/window/window_loops.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace isthmus::measure;
using isthmus::UsageError;
using isthmus::measure::Gpu;

namespace {

/// Reads a loop's values.
class Reader {
public:
  Reader(const char* loop, const nb::dict& values) : loop_(loop), values_(values) {}

  template <typename Value>
  void operator()(const char* name, Value& member) const {
    if (!values_.contains(name))
      throw UsageError(std::string("loop '") + loop_ + "' needs the value '" + name + "'");
    read(name, values_[name], member);
  }

private:
  template <typename Value>
  void read(const char* name, nb::handle given, Value& member) const {
    if constexpr (std::is_enum_v<Value>) {
      member = value_of<Value>(nb::cast<std::string>(nb::str(given)), name);
    } else if (!nb::try_cast(given, member)) {
      throw UsageError(std::string("loop '") + loop_ + "': '" + name + "' can't be " +
                       nb::repr(given).c_str());
    }
  }
  template <typename Value>
  void read(const char* name, nb::handle given, std::optional<Value>& member) const {
    member.reset();
    if (!given.is_none()) read(name, given, member.emplace());
  }

  const char* loop_;
  const nb::dict& values_;
};

struct Loop {
  const char* name;
  Measurement (*run)(Bench& bench, const nb::dict& values);
};

#define ISTHMUS_LOOP(name, Options, ...)                                          \
  Measurement run_##name([[maybe_unused]] Bench& bench, const nb::dict& values) { \
    const Reader read(#name, values);                                             \
    Options options;
#define ISTHMUS_VALUE(name, member) read(#name, options.member);
#define ISTHMUS_CALL(...)     \
  const GilReleased released; \
  return __VA_ARGS__;         \
  }
#include "measure/table/loops.inc"

constexpr Loop kLoops[] = {
#define ISTHMUS_LOOP(name, ...) {#name, run_##name},
#include "measure/table/loops.inc"
};

struct Metric {
  const char* name;
  const char* clock;
};

/// A row of loops.inc.
struct Row {
  const char* name;
  std::size_t num_buffers;
  const char* gpus;
  bool windows;
  std::vector<const char*> values;
  std::vector<Metric> metrics;
};

// The table is the function.
// NOLINTNEXTLINE(readability-function-size)
std::vector<Row> rows() {
  std::vector<Row> found;
#define ISTHMUS_LOOP(name, options, buffers, gpus, windows) \
  found.push_back({#name, buffers, #gpus, windows, {}, {}});
#define ISTHMUS_VALUE(name, ...) found.back().values.push_back(#name);
#define ISTHMUS_METRIC(name, clock) found.back().metrics.push_back({#name, #clock});
#include "measure/table/loops.inc"
  return found;
}

using SharedBench = Unlocked<Bench>;
using GivenGpu = std::tuple<const SharedContext*, const SharedKernels*, std::optional<int>>;

Measurement measured(SharedBench& bench, const std::string& loop, const nb::dict& values,
                     const SharedKernels* kernels, const std::vector<SharedBuffers*>& buffers,
                     const std::vector<GivenGpu>& gpus) {
  Given given{kernels_of(kernels), {}, {}};
  for (SharedBuffers* one : buffers) given.buffers.push_back(&**one);
  for (const auto& [context, its_kernels, node] : gpus)
    given.gpus.push_back({**context, kernels_of(its_kernels), node});
  bench->give(std::move(given));
  for (const Loop& one : kLoops) {
    if (loop == one.name) return one.run(*bench, values);
  }
  throw UsageError("unknown loop '" + loop + "': see measuring_loops()");
}

void bind_rows(nb::module_& m) {
  nb::class_<Metric>(m, "LoopMetric", "A metric of a measuring loop.")
      .def_ro("name", &Metric::name)
      .def_ro("clock", &Metric::clock,
              "\"device\", \"host\", \"either\" by the loop's values, or \"alone\": the host's, "
              "and each sample is a time of its own.");
  nb::class_<Row>(m, "MeasuringLoop", "A row of cpp/src/measure/table/loops.inc.")
      .def_ro("name", &Row::name)
      .def_ro("num_buffers", &Row::num_buffers, "Pairs of pinned buffers that it needs.")
      .def_ro("gpus", &Row::gpus, "\"none\", \"named\", or \"all\": the others, too.")
      .def_ro("windows", &Row::windows)
      .def_ro("values", &Row::values)
      .def_ro("metrics", &Row::metrics);
  m.def("measuring_loops", &rows, "List the measuring loops, in order.");
}

}  // namespace

void bind_measure_loops(nb::module_& m) {
  m.attr("MAX_MANAGED_BYTES") = kMaxManagedBytes;
  bind_rows(m);
  nb::class_<SharedBench>(m, "Bench", "A device on which loops measure, and what they share.")
      .def(
          "__init__",
          [](SharedBench* self, const SharedContext& context) {
            new (self) SharedBench(Bench(*context));
          },
          "context"_a, Release())
      .def("measure", &measured, "loop"_a, "values"_a, nb::kw_only(),
           "kernels"_a.none() = nb::none(), "buffers"_a = std::vector<SharedBuffers*>{},
           "gpus"_a = std::vector<GivenGpu>{},
           nb::sig("def measure(self, loop: str, values: Mapping[str, object], *, kernels: Kernels "
                   "| None = None, buffers: Sequence[CopyBuffers] = (), gpus: "
                   "Sequence[tuple[Context, Kernels | None, int | None]] = ()) -> Measurement"),
           "Run a loop with its row's values. The GIL is released while it measures.")
      .def(
          "check_windows", [](SharedBench& bench) { bench->windows(); }, Release(),
          "Raise UsageError if a setting of windows is wrong; none is opened.")
      .def(
          "describe_windows", [](SharedBench& bench) { return bench->describe_windows(); },
          Release(), "The backend and the instructions that windows use here.")
      .def(
          "take_notices", [](SharedBench& bench) { return bench->take_notices(); },
          "What the user should be told once, such as an untested driver; empties the list.");
}

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
