// Line requests for each second of one core, by workload and policy. Usage:
//   sim_rates [SECONDS_PER_POINT [WORKLOAD...]]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "pages/policy_names.hpp"
#include "rows.hpp"
#include "sim/simulator.hpp"
#include "trace/recorded.hpp"
#include "workloads/registry.hpp"

namespace {

using isthmus::pages::PolicyKind;
using isthmus::sim::Mode;

/// A way to get data to the GPU: a column of the table.
struct Way {
  std::string name;
  Mode mode = Mode::migrate;
  PolicyKind kind = PolicyKind::ranges;
  bool merge = true;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all{
      {"ideal", Mode::ideal},
      {"programmer", Mode::programmer},
      {"whole page", Mode::migrate, PolicyKind::whole_page, false},
      {"whole page, merged", Mode::migrate, PolicyKind::whole_page, true},
      {"single range", Mode::migrate, PolicyKind::single_range},
      {"units of 1 KiB", Mode::migrate, PolicyKind::bitmap},
  };
  return all;
}

/// The CPU time of this process, on any core: unaffected by other processes.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Measured {
  isthmus::sim::Result result;
  double seconds = 0;  ///< the fastest of the runs
};

Measured measure(const std::shared_ptr<const isthmus::trace::Recording>& recording, const Way& way,
                 double min_seconds) {
  isthmus::pages::MigrationPolicy policy = isthmus::pages::default_policy(way.kind);
  policy.merge = way.merge;
  isthmus::sim::Options options;
  options.mode = way.mode;
  Measured measured{{}, 1e9};
  double total = 0;
  while (total < min_seconds) {
    isthmus::trace::Replay replay(recording);
    const double start = cpu_seconds();
    measured.result = isthmus::sim::simulate({}, policy, options, replay);
    const double seconds = cpu_seconds() - start;
    measured.seconds = std::min(measured.seconds, seconds);
    total += seconds;
  }
  return measured;
}

Row row(const std::string& workload, const Way& way, const Measured& measured) {
  const auto lines = static_cast<double>(measured.result.line_requests);
  Row made;
  made.add("workload", workload).add("way", way.name);
  made.add("line_requests", static_cast<std::size_t>(measured.result.line_requests));
  made.add("warp_instructions", static_cast<std::size_t>(measured.result.warp_instructions));
  made.add("events", static_cast<std::size_t>(measured.result.events));
  made.add("cpu_seconds", measured.seconds);
  made.add("line_requests_per_s", lines / measured.seconds);
  made.add("modelled_seconds", static_cast<double>(measured.result.total_ps) * 1e-12);
  return made;
}

}  // namespace

int main(int count, char** arguments) {
  const double min_seconds = count > 1 ? std::stod(arguments[1]) : 0.5;
  std::vector<std::string> names(arguments + std::min(count, 2), arguments + count);
  if (names.empty()) {
    for (const auto& workload : isthmus::workloads::workloads()) names.emplace_back(workload.name);
  }
  std::vector<Row> rows;
  double logarithms = 0;
  std::fprintf(stderr, "%-12s %-20s %12s %12s %9s %9s %14s\n", "workload", "way", "lines", "events",
               "CPU s", "Mlines/s", "modelled ms");
  for (const std::string& name : names) {
    const auto source = isthmus::workloads::make_workload(name, 1);
    const auto recording = isthmus::trace::record(*source);
    for (const Way& way : ways()) {
      const Measured measured = measure(recording, way, min_seconds);
      const auto lines = static_cast<double>(measured.result.line_requests);
      logarithms += std::log(lines / measured.seconds);
      rows.push_back(row(name, way, measured));
      std::fprintf(stderr, "%-12s %-20s %12.0f %12llu %9.4f %9.2f %14.4f\n", name.c_str(),
                   way.name.c_str(), lines, static_cast<unsigned long long>(measured.result.events),
                   measured.seconds, lines / measured.seconds * 1e-6,
                   static_cast<double>(measured.result.total_ps) * 1e-9);
    }
  }
  const double mean = std::exp(logarithms / static_cast<double>(rows.size()));
  std::fprintf(stderr, "geometric mean: %.2f M line requests/s\n", mean * 1e-6);
  std::printf("{\n  \"geometric_mean_line_requests_per_s\": %.6g,\n  \"rows\": %s\n}\n", mean,
              list(rows).c_str());
  return 0;
}
