// The simulator. A machine and its options are plain values, set from Python; simulate() releases
// the GIL.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
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

constexpr Word<sim::Mode> kModes[] = {{"migrate", sim::Mode::migrate},
                                      {"programmer", sim::Mode::programmer},
                                      {"overlapped", sim::Mode::overlapped},
                                      {"ideal", sim::Mode::ideal}};
constexpr Word<sim::BufferScope> kBufferScopes[] = {
    {"per_partition", sim::BufferScope::per_partition}, {"total", sim::BufferScope::total}};
constexpr Word<sim::LocalMemory> kLocalMemory[] = {{"resident", sim::LocalMemory::resident},
                                                   {"migrates", sim::LocalMemory::migrates}};
constexpr Word<sim::ProgrammerData> kProgrammerData[] = {
    {"uploads", sim::ProgrammerData::uploads},
    {"touched_global", sim::ProgrammerData::touched_global},
    {"touched_all", sim::ProgrammerData::touched_all},
    {"touched_pages", sim::ProgrammerData::touched_pages},
    {"uploads_or_touched", sim::ProgrammerData::uploads_or_touched}};
constexpr Word<sim::CpuRequests> kCpuRequests[] = {{"take_back", sim::CpuRequests::take_back},
                                                   {"left_out", sim::CpuRequests::left_out}};
constexpr Word<sim::Hints> kHints[] = {
    {"none", sim::Hints::none}, {"prefetch", sim::Hints::prefetch}, {"advise", sim::Hints::advise}};
constexpr Word<sim::ChunkOrder> kChunkOrders[] = {{"program", sim::ChunkOrder::program},
                                                  {"in_turns", sim::ChunkOrder::in_turns}};
constexpr Word<sim::Initially> kInitially[] = {{"on_cpu", sim::Initially::on_cpu},
                                               {"on_gpu", sim::Initially::on_gpu}};
constexpr Word<sim::FaultParameters::Handling> kHandling[] = {
    {"each", sim::FaultParameters::Handling::each},
    {"batch", sim::FaultParameters::Handling::batch},
    {"serial", sim::FaultParameters::Handling::serial},
    {"lanes", sim::FaultParameters::Handling::lanes}};

constexpr Word<isthmus::pages::Recency> kRecencies[] = {
    {"migration", isthmus::pages::Recency::migration}, {"access", isthmus::pages::Recency::access}};

/// Binds an enumerator under its word.
template <auto Words, typename Owner, typename Value>
void def_word(nb::class_<Owner>& bound, const char* name, Value Owner::* member) {
  bound.def_prop_rw(
      name, [member](const Owner& owner) { return word_of(*Words, owner.*member); },
      [member, name](Owner& owner, const std::string& word) {
        owner.*member = value_of(*Words, word, name);
      });
}

void bind_cores(nb::module_& m) {
  nb::class_<sim::CoreParameters>(m, "SimCores")
      .def_rw("count", &sim::CoreParameters::count)
      .def_rw("clock_hz", &sim::CoreParameters::clock_hz)
      .def_rw("max_warps", &sim::CoreParameters::max_warps)
      .def_rw("max_ctas", &sim::CoreParameters::max_ctas)
      .def_rw("issue_per_cycle", &sim::CoreParameters::issue_per_cycle)
      .def_rw("dependent_issue_cycles", &sim::CoreParameters::dependent_issue_cycles)
      .def_rw("lines_per_cycle", &sim::CoreParameters::lines_per_cycle);
  nb::class_<sim::L1Parameters>(m, "SimL1Cache")
      .def_rw("size_bytes", &sim::L1Parameters::size_bytes)
      .def_rw("ways", &sim::L1Parameters::ways)
      .def_rw("hit_cycles", &sim::L1Parameters::hit_cycles)
      .def_rw("misses", &sim::L1Parameters::misses)
      .def_rw("merges", &sim::L1Parameters::merges);
  nb::class_<sim::TranslationParameters>(m, "SimTranslation")
      .def_rw("entries", &sim::TranslationParameters::entries)
      .def_rw("ways", &sim::TranslationParameters::ways)
      .def_rw("ports", &sim::TranslationParameters::ports)
      .def_rw("shared_entries", &sim::TranslationParameters::shared_entries)
      .def_rw("shared_ways", &sim::TranslationParameters::shared_ways)
      .def_rw("shared_cycles", &sim::TranslationParameters::shared_cycles)
      .def_rw("walk_cycles", &sim::TranslationParameters::walk_cycles)
      .def_rw("walkers", &sim::TranslationParameters::walkers);
}

void bind_memory(nb::module_& m) {
  nb::class_<sim::NetworkParameters>(m, "SimNetwork")
      .def_rw("latency_cycles", &sim::NetworkParameters::latency_cycles)
      .def_rw("port_bytes_per_cycle", &sim::NetworkParameters::port_bytes_per_cycle)
      .def_rw("partition_stripe_bytes", &sim::NetworkParameters::partition_stripe_bytes);
  nb::class_<sim::PartitionParameters>(m, "SimPartitions")
      .def_rw("count", &sim::PartitionParameters::count)
      .def_rw("l2_size_bytes", &sim::PartitionParameters::l2_size_bytes)
      .def_rw("l2_ways", &sim::PartitionParameters::l2_ways)
      .def_rw("l2_cycles", &sim::PartitionParameters::l2_cycles)
      .def_rw("dram_bytes_per_s", &sim::PartitionParameters::dram_bytes_per_s)
      .def_rw("dram_cycles", &sim::PartitionParameters::dram_cycles)
      .def_rw("memory_bytes", &sim::PartitionParameters::memory_bytes)
      .def_rw("arrivals_in_dram", &sim::PartitionParameters::arrivals_in_dram);
  nb::class_<sim::GmmuParameters>(m, "SimGmmu")
      .def_rw("buffer_entries", &sim::GmmuParameters::buffer_entries)
      .def_rw("query_cycles", &sim::GmmuParameters::query_cycles);
}

void bind_link(nb::module_& m) {
  nb::class_<sim::LinkParameters>(m, "SimLink")
      .def_rw("bytes_per_s", &sim::LinkParameters::bytes_per_s)
      .def_rw("back_bytes_per_s", &sim::LinkParameters::back_bytes_per_s)
      .def_rw("latency_ps", &sim::LinkParameters::latency_ps)
      .def_rw("packet_bytes", &sim::LinkParameters::packet_bytes)
      .def_rw("packet_overhead_bytes", &sim::LinkParameters::packet_overhead_bytes)
      .def_rw("half_duplex", &sim::LinkParameters::half_duplex)
      .def_rw("coherent", &sim::LinkParameters::coherent)
      .def(
          "add_cost",
          [](sim::LinkParameters& link, std::uint64_t size_bytes, std::uint64_t busy_ps) {
            link.costs.push_back({size_bytes, busy_ps});
          },
          "size_bytes"_a, "busy_ps"_a, "Points of a measured link, by ascending size.");
  nb::class_<sim::FaultParameters> faults(m, "SimFaults");
  faults.def_rw("latency_ps", &sim::FaultParameters::latency_ps)
      .def_rw("batch_faults", &sim::FaultParameters::batch_faults)
      .def_rw("block_ps", &sim::FaultParameters::block_ps)
      .def_rw("page_ps", &sim::FaultParameters::page_ps)
      .def_rw("first_ps", &sim::FaultParameters::first_ps)
      .def_rw("prefetch_ps", &sim::FaultParameters::prefetch_ps)
      .def_rw("prefetch_block_ps", &sim::FaultParameters::prefetch_block_ps)
      .def_rw("back_fault_ps", &sim::FaultParameters::back_fault_ps)
      .def_rw("back_page_ps", &sim::FaultParameters::back_page_ps)
      .def_rw("back_prefetch_ps", &sim::FaultParameters::back_prefetch_ps)
      .def_rw("fetch_ps", &sim::FaultParameters::fetch_ps)
      .def_rw("evict_ps", &sim::FaultParameters::evict_ps)
      .def_rw("back_prefetch_block_ps", &sim::FaultParameters::back_prefetch_block_ps);
  def_word<&kHandling>(faults, "handling", &sim::FaultParameters::handling);
}

void bind_machine(nb::module_& m) {
  nb::class_<sim::ModelledMachine>(m, "SimMachine",
                                   "The simulated machine; by default that of Zhang 2019.")
      .def(nb::init<>())
      .def_rw("cores", &sim::ModelledMachine::cores)
      .def_rw("l1", &sim::ModelledMachine::l1)
      .def_rw("translation", &sim::ModelledMachine::translation)
      .def_rw("network", &sim::ModelledMachine::network)
      .def_rw("partitions", &sim::ModelledMachine::partitions)
      .def_rw("gmmu", &sim::ModelledMachine::gmmu)
      .def_rw("link", &sim::ModelledMachine::link)
      .def_rw("faults", &sim::ModelledMachine::faults)
      .def_rw("launch_ps", &sim::ModelledMachine::launch_ps)
      .def("check", &sim::check_machine, "Raise UsageError for an impossible machine.");
}

void bind_options(nb::module_& m) {
  nb::class_<sim::Options> options(m, "SimOptions", "Options beyond machine and policy.");
  options.def(nb::init<>())
      .def_rw("chunk_bytes", &sim::Options::chunk_bytes)
      .def_rw("count_downloads", &sim::Options::count_downloads)
      .def_rw("l1_kept_between_launches", &sim::Options::l1_kept_between_launches);
  options.def_prop_rw(
      "eviction_kind",
      [](const sim::Options& self) { return isthmus::pages::eviction_name(self.eviction.kind); },
      [](sim::Options& self, const std::string& name) {
        self.eviction.kind = isthmus::pages::eviction_kind(name);
      });
  options.def_prop_rw(
      "eviction_recency",
      [](const sim::Options& self) { return word_of(kRecencies, self.eviction.recency); },
      [](sim::Options& self, const std::string& word) {
        self.eviction.recency = value_of(kRecencies, word, "eviction_recency");
      });
  def_word<&kModes>(options, "mode", &sim::Options::mode);
  def_word<&kBufferScopes>(options, "buffer_scope", &sim::Options::buffer_scope);
  def_word<&kLocalMemory>(options, "local_memory", &sim::Options::local_memory);
  def_word<&kProgrammerData>(options, "programmer_data", &sim::Options::programmer_data);
  def_word<&kHints>(options, "hints", &sim::Options::hints);
  def_word<&kCpuRequests>(options, "cpu_requests", &sim::Options::cpu_requests);
  def_word<&kChunkOrders>(options, "chunk_order", &sim::Options::chunk_order);
  def_word<&kInitially>(options, "initially", &sim::Options::initially);
}

sim::Result simulate(const sim::ModelledMachine& machine,
                     const isthmus::pages::MigrationPolicy& policy, const sim::Options& options,
                     TraceSource& trace, nb::object poll, SimTimeline* timeline) {
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
  bind_cores(m);
  bind_memory(m);
  bind_link(m);
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
        "poll"_a = nb::none(), "timeline"_a.none() = nb::none(),
        "Run a trace from its first block. `poll` is called several times a second with the "
        "simulated picoseconds; if it returns False, the run ends with KeyboardInterrupt.");
}
