// The simulator. A machine and its options are plain values, set from Python; simulate() releases
// the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/sim/sim_observer.hpp"
#include "bindings/sim/trace_source.hpp"
#include "bindings/text.hpp"
#include "bindings/words.hpp"
#include "pages/eviction.hpp"
#include "sim/simulator.hpp"
#include "trace/recorded.hpp"

namespace nb = nanobind;
using namespace nb::literals;
namespace sim = isthmus::sim;

namespace {

/// Binds an enumerator under its word.
template <typename Owner, typename Value>
void def_word(nb::class_<Owner>& bound, const char* name, Value Owner::* member) {
  bound.def_prop_rw(
      name, [member](const Owner& owner) { return word_of(owner.*member); },
      [member, name](Owner& owner, const std::string& word) {
        owner.*member = value_of<Value>(word, name);
      });
}

void bind_machine(nb::module_& m) {
  nb::class_<sim::Parameter>(m, "SimParameter", "A parameter of a simulated machine.")
      .def_ro("group", &sim::Parameter::group)
      .def_ro("name", &sim::Parameter::name)
      .def_ro("quantity", &sim::Parameter::quantity)
      .def_ro("meaning", &sim::Parameter::meaning)
      .def_ro("required", &sim::Parameter::required);
  nb::class_<sim::ModelledMachine> machine(m, "SimMachine",
                                           "The simulated machine; by default that of Zhang 2019.");
  machine.def(nb::init<>())
      .def(
          "get",
          [](const sim::ModelledMachine& self, const sim::Parameter& one) { return one.get(self); },
          "parameter"_a)
      .def(
          "set",
          [](sim::ModelledMachine& self, const sim::Parameter& one, std::uint64_t value) {
            one.set(self, value);
          },
          "parameter"_a, "value"_a, "Raise UsageError for what is out of range.")
      .def(
          "add_link_cost",
          [](sim::ModelledMachine& self, std::uint64_t size_bytes, std::uint64_t busy_ps) {
            self.link.costs.push_back({size_bytes, busy_ps});
          },
          "size_bytes"_a, "busy_ps"_a, "Points of a measured link, by ascending size.")
      .def_prop_rw(
          "handling",
          [](const sim::ModelledMachine& self) { return word_of(self.faults.handling); },
          [](sim::ModelledMachine& self, const std::string& word) {
            self.faults.handling = value_of<sim::Handling>(word, "handling");
          })
      .def("check", &sim::check_machine, "Raise UsageError for an impossible machine.");
  m.def("sim_parameters", [] {
    const auto rows = sim::parameters();
    return std::vector<sim::Parameter>(rows.begin(), rows.end());
  });
  m.def("sim_parameter_groups", [] {
    std::vector<std::pair<std::string, std::string>> found;
    for (const sim::ParameterGroup& one : sim::parameter_groups()) {
      found.emplace_back(one.name, one.meaning);
    }
    return found;
  });
}

void bind_options(nb::module_& m) {
  nb::class_<sim::Options> options(m, "SimOptions", "Options beyond machine and policy.");
  options.def(nb::init<>())
      .def_rw("chunk_bytes", &sim::Options::chunk_bytes)
      .def_rw("count_downloads", &sim::Options::count_downloads)
      .def_rw("l1_kept_between_launches", &sim::Options::l1_kept_between_launches);
  options.def_prop_rw(
      "eviction_kind", [](const sim::Options& self) { return word_of(self.eviction.kind); },
      [](sim::Options& self, const std::string& word) {
        self.eviction.kind = value_of<isthmus::pages::EvictionKind>(word, "eviction_kind");
      });
  options.def_prop_rw(
      "eviction_recency", [](const sim::Options& self) { return word_of(self.eviction.recency); },
      [](sim::Options& self, const std::string& word) {
        self.eviction.recency = value_of<isthmus::pages::Recency>(word, "eviction_recency");
      });
  def_word(options, "mode", &sim::Options::mode);
  def_word(options, "buffer_scope", &sim::Options::buffer_scope);
  def_word(options, "merged_waiters", &sim::Options::merged_waiters);
  def_word(options, "local_memory", &sim::Options::local_memory);
  def_word(options, "programmer_data", &sim::Options::programmer_data);
  def_word(options, "hints", &sim::Options::hints);
  def_word(options, "cpu_requests", &sim::Options::cpu_requests);
  def_word(options, "chunk_order", &sim::Options::chunk_order);
  def_word(options, "initially", &sim::Options::initially);
}

sim::Result simulate(const sim::ModelledMachine& machine,
                     const isthmus::pages::MigrationPolicy& policy, sim::Options options,
                     TraceSource& trace, nb::object poll, SimTimeline* timeline,
                     const isthmus::pages::OwnPolicy* own) {
  options.own = own;
  const TraceSource::Use use(trace);
  SimObserver observer(std::move(poll), timeline);
  const GilReleased released;
  return sim::simulate(machine, policy, options, *use, &observer);
}

/// A trace in memory; opened sources keep it alive, too.
struct TraceRecording {
  std::shared_ptr<const isthmus::trace::Recording> recording;
};

TraceRecording record(TraceSource& trace) {
  const TraceSource::Use use(trace);
  const GilReleased released;
  return {isthmus::trace::record(*use)};
}

std::unique_ptr<TraceSource> replay(const TraceRecording& self) {
  return std::make_unique<TraceSource>(std::make_unique<isthmus::trace::Replay>(self.recording));
}

}  // namespace

void bind_sim(nb::module_& m) {
  bind_machine(m);
  bind_options(m);
  nb::class_<TraceRecording>(m, "TraceRecording", "A trace in memory, for many concurrent runs.")
      .def(
          "__init__",
          [](TraceRecording* self, TraceSource& trace) {
            new (self) TraceRecording(record(trace));
          },
          "trace"_a, "Read all of a trace.")
      .def_prop_ro(
          "size_bytes", [](const TraceRecording& self) { return self.recording->size_bytes(); },
          "The memory that it takes.")
      .def_prop_ro(
          "digest", [](const TraceRecording& self) { return self.recording->digest(); },
          "Equal for traces that ask for the same; names and descriptions aren't in it.")
      .def("replay", &replay, "A new source, at the first block.");
  m.def("simulate", &simulate, "machine"_a, "policy"_a, "options"_a, "trace"_a, nb::kw_only(),
        "poll"_a = nb::none(), "timeline"_a.none() = nb::none(), "own"_a.none() = nb::none(),
        "Run a trace from its first block. `poll` is called several times a second with the "
        "simulated picoseconds; if it returns False, the run ends with KeyboardInterrupt.");
}
