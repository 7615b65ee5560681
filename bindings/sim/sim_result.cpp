// The results of a run, its timeline, and what is observed while it runs.
#include <algorithm>
#include <tuple>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <isthmus/errors.hpp>

#include "bindings/bindings.hpp"
#include "bindings/gil.hpp"
#include "bindings/sim/sim_observer.hpp"
#include "bindings/text.hpp"
#include "bindings/words.hpp"
#include "sim/result.hpp"

namespace nb = nanobind;

namespace {

// Short for a person who pressed Ctrl-C; long compared with acquiring the GIL.
constexpr std::chrono::milliseconds kBetweenPolls{50};
constexpr std::size_t kMaxSamples = 512;

}  // namespace

// Bytes may reach into the next parts.
void SimTimeline::add(isthmus::sim::Use use, std::uint64_t address, std::uint64_t amount) {
  using isthmus::sim::Use;
  const auto column = static_cast<std::size_t>(use);
  auto part =
      static_cast<std::size_t>(std::ranges::upper_bound(begins_, address) - begins_.begin());
  const bool is_bytes = use == Use::migrated || use == Use::evicted;
  while (is_bytes && part < begins_.size() && begins_[part] - address < amount) {
    const std::uint64_t here = begins_[part] - address;
    uses_[part++][column] += here;
    address += here;
    amount -= here;
  }
  uses_[part][column] += amount;
}

void SimTimeline::add(const Sample& sample) {
  if (num_samples_++ % samples_between_ != 0) return;
  if (samples_.size() == kMaxSamples) {
    for (std::size_t i = 0; i < kMaxSamples / 2; ++i) samples_[i] = samples_[2 * i];
    samples_.resize(kMaxSamples / 2);
    samples_between_ *= 2;
  }
  samples_.push_back(sample);
}

SimObserver::SimObserver(nb::object poll, SimTimeline* timeline)
    : poll_(std::move(poll)),
      timeline_(timeline),
      next_(std::chrono::steady_clock::now() + kBetweenPolls) {}

void SimObserver::poll(isthmus::sim::Picoseconds now_ps) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kBetweenPolls;
  const GilHeld held;
  // The signal handler's exception is pending; the translator leaves it.
  if (into_python([] { return PyErr_CheckSignals(); }) != 0)
    throw isthmus::Interrupted("the run was interrupted");
  if (poll_.is_none()) return;
  if (!into_python([&] { return nb::cast<bool>(poll_(now_ps)); }))
    throw isthmus::Interrupted("the run was stopped");
}

void SimObserver::counted(isthmus::sim::Picoseconds now_ps, const isthmus::sim::Result& so_far) {
  if (timeline_ == nullptr) return;
  SimTimeline::Sample sample{now_ps};
  std::ranges::copy(counts_of(so_far), sample.begin() + 1);
  timeline_->add(sample);
}

void SimObserver::launched(std::uint32_t launch, const isthmus::trace::Launch& kernel, Span span,
                           const isthmus::sim::Counts& counts) {
  if (timeline_ == nullptr) return;
  timeline_->add(launch, kernel.name, counts);
  add(SimTimeline::Kind::launch, launch, kernel.stream, span);
}

void SimObserver::cta_done(std::uint32_t core, std::uint32_t cta, Span span) {
  add(SimTimeline::Kind::cta, core, cta, span);
}

void SimObserver::migrated(std::uint64_t address, std::uint64_t size_bytes, Span span) {
  add(SimTimeline::Kind::migration, address, size_bytes, span);
}

void SimObserver::link_busy(bool to_gpu, std::uint64_t size_bytes, Span span) {
  add(to_gpu ? SimTimeline::Kind::to_gpu : SimTimeline::Kind::to_cpu, 0, size_bytes, span);
}

void SimObserver::evicted(std::uint64_t address, std::uint64_t size_bytes, Span span) {
  add(SimTimeline::Kind::eviction, address, size_bytes, span);
}

void SimObserver::add(SimTimeline::Kind kind, std::uint64_t where, std::uint64_t amount,
                      Span span) {
  if (timeline_ != nullptr) timeline_->add({kind, where, amount, span});
}

using namespace nb::literals;
namespace sim = isthmus::sim;

namespace {

void bind_counts(nb::module_& m) {
  nb::class_<sim::Stalls>(m, "SimStalls")
      .def_ro("issue_ps", &sim::Stalls::issue_ps)
      .def_ro("memory_ps", &sim::Stalls::memory_ps)
      .def_ro("translation_ps", &sim::Stalls::translation_ps)
      .def_ro("migration_ps", &sim::Stalls::migration_ps)
      .def_ro("barrier_ps", &sim::Stalls::barrier_ps);
  nb::class_<sim::Traffic>(m, "SimTraffic")
      .def_ro("copied_to_gpu", &sim::Traffic::copied_to_gpu)
      .def_ro("migrated_to_gpu", &sim::Traffic::migrated_to_gpu)
      .def_ro("remote_to_gpu", &sim::Traffic::remote_to_gpu)
      .def_ro("copied_to_cpu", &sim::Traffic::copied_to_cpu)
      .def_ro("returned_to_cpu", &sim::Traffic::returned_to_cpu)
      .def_ro("evicted_to_cpu", &sim::Traffic::evicted_to_cpu)
      .def_ro("remote_to_cpu", &sim::Traffic::remote_to_cpu);
  nb::class_<sim::TlbCounts>(m, "SimTlbCounts")
      .def_ro("accesses", &sim::TlbCounts::accesses)
      .def_ro("misses", &sim::TlbCounts::misses)
      .def_ro("misses_or_absent", &sim::TlbCounts::misses_or_absent)
      .def_ro("accesses_after_l1", &sim::TlbCounts::accesses_after_l1)
      .def_ro("misses_after_l1", &sim::TlbCounts::misses_after_l1)
      .def_ro("misses_or_absent_after_l1", &sim::TlbCounts::misses_or_absent_after_l1)
      .def_ro("shared_accesses", &sim::TlbCounts::shared_accesses)
      .def_ro("shared_misses", &sim::TlbCounts::shared_misses);
  nb::class_<sim::CacheCounts>(m, "SimCacheCounts")
      .def_ro("l1_hits", &sim::CacheCounts::l1_hits)
      .def_ro("l1_misses", &sim::CacheCounts::l1_misses)
      .def_ro("l2_hits", &sim::CacheCounts::l2_hits)
      .def_ro("l2_misses", &sim::CacheCounts::l2_misses)
      .def_ro("dram_reads", &sim::CacheCounts::dram_reads)
      .def_ro("dram_writes", &sim::CacheCounts::dram_writes);
  nb::class_<sim::Utilisation>(m, "SimUtilisation")
      .def_ro("bin_ps", &sim::Utilisation::bin_ps)
      .def_ro("to_gpu_ps", &sim::Utilisation::to_gpu_ps)
      .def_ro("to_cpu_ps", &sim::Utilisation::to_cpu_ps);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> launch_times(const sim::Result& result) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> times;
  times.reserve(result.launches.size());
  for (const sim::LaunchTimes& launch : result.launches) {
    times.emplace_back(launch.start_ps, launch.end_ps);
  }
  return times;
}

void bind_result(nb::module_& m) {
  using sim::Result;
  nb::class_<Result>(m, "SimResult", "The results of a run. All of them are modelled.")
      .def_ro("total_ps", &Result::total_ps)
      .def_ro("least_ps", &Result::least_ps)
      .def_ro("copy_ps", &Result::copy_ps)
      .def_ro("kernel_ps", &Result::kernel_ps)
      .def_prop_ro("launches", &launch_times, "For each launch (start_ps, end_ps).")
      .def_ro("stalls", &Result::stalls)
      .def_ro("traffic", &Result::traffic)
      .def_ro("tlb", &Result::tlb)
      .def_ro("caches", &Result::caches)
      .def_ro("migrations", &Result::migrations)
      .def_ro("transfers", &Result::transfers)
      .def_ro("waits", &Result::waits)
      .def_ro("buffer_waits", &Result::buffer_waits)
      .def_ro("fault_batches", &Result::fault_batches)
      .def_ro("fault_blocks", &Result::fault_blocks)
      .def_ro("fault_pages", &Result::fault_pages)
      .def_ro("advised_in_place", &Result::advised_in_place)
      .def_ro("advised_read_mostly", &Result::advised_read_mostly)
      .def_ro("advised_on_gpu", &Result::advised_on_gpu)
      .def_ro("evictions", &Result::evictions)
      .def_ro("cpu_requests", &Result::cpu_requests)
      .def_ro("returned_steps", &Result::returned_steps)
      .def_ro("returned_blocks", &Result::returned_blocks)
      .def_ro("returned_faults", &Result::returned_faults)
      .def_ro("returned_pages", &Result::returned_pages)
      .def_ro("touched_bytes", &Result::touched_bytes)
      .def_ro("accessed_bytes", &Result::accessed_bytes)
      .def_ro("ranges_per_page", &Result::ranges_per_page)
      .def_ro("link_to_gpu_busy_ps", &Result::link_to_gpu_busy_ps)
      .def_ro("link_to_cpu_busy_ps", &Result::link_to_cpu_busy_ps)
      .def_ro("utilisation", &Result::utilisation)
      .def_ro("line_requests", &Result::line_requests)
      .def_ro("warp_instructions", &Result::warp_instructions)
      .def_ro("num_ctas", &Result::num_ctas)
      .def_ro("events", &Result::events)
      .def_ro("event_digest", &Result::event_digest)
      .def_prop_ro("accessed_share", &Result::accessed_share);
}

using TimelineRow =
    std::tuple<const char*, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

std::vector<TimelineRow> timeline_rows(const SimTimeline& timeline) {
  std::vector<TimelineRow> rows;
  rows.reserve(timeline.rows().size());
  for (const SimTimeline::Row& row : timeline.rows()) {
    rows.emplace_back(word_of(row.kind), row.where, row.amount, row.span.start_ps, row.span.end_ps);
  }
  return rows;
}

void bind_timeline(nb::module_& m) {
  nb::class_<SimTimeline>(m, "SimTimeline", "The events of a run, up to a number of rows.")
      .def(nb::init<std::size_t, std::vector<std::uint64_t>>(), "max_rows"_a, nb::kw_only(),
           "begins"_a = std::vector<std::uint64_t>(),
           "`begins`: where parts of the address space begin, ascending.")
      .def_prop_ro("uses", &SimTimeline::uses,
                   "For what lies before the first part, then for each: the fields of `Use`.")
      .def_prop_ro(
          "rows", &timeline_rows,
          "(kind, where, amount, start_ps, end_ps). `where` and `amount` are, for launch: "
          "its number and stream; cta: core and number; migration and eviction: address and bytes; "
          "to_gpu and to_cpu: 0 and bytes.")
      .def_prop_ro("samples", &SimTimeline::samples,
                   "A time in ps, then what was counted up to it: the fields of SimStalls and "
                   "SimTraffic, migrations, evictions, line_requests.")
      .def_prop_ro("launches", &SimTimeline::launches,
                   "For each launch, what was counted for it: as `samples`, without the time.")
      .def_prop_ro("kernels", &SimTimeline::kernels, "Names of the launches, by number.")
      .def_prop_ro("num_dropped", &SimTimeline::num_dropped);
}

}  // namespace

void bind_sim_result(nb::module_& m) {
  bind_counts(m);
  bind_result(m);
  bind_timeline(m);
}
