// The measuring loops: each row of loops.inc, called by its name with values from Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <concepts>
#include <tuple>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/text.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/words.hpp"
#include "measure/bandwidth/bandwidth.hpp"
#include "measure/bandwidth/host_memcpy.hpp"
#include "measure/bandwidth/many_copies.hpp"
#include "measure/bandwidth/overlap.hpp"
#include "measure/bandwidth/shaped_copies.hpp"
#include "measure/latency/latency.hpp"
#include "measure/loops/stream_copies.hpp"
#include "measure/memory/allocation_cost.hpp"
#include "measure/memory/managed_memory.hpp"
#include "measure/memory/memory_life.hpp"
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
