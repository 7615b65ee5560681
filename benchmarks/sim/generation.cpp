// Trace lines that workloads generate for each second of one core, and the time to create their
// inputs. Usage: sim_generation [SECONDS_PER_WORKLOAD [WORKLOAD...]]
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "rows.hpp"
#include "workloads/recording/recorder.hpp"
#include "workloads/registry.hpp"

namespace {

using isthmus::workloads::NamedWorkload;
using isthmus::workloads::Recorder;

/// The CPU time of this process, on any core: unaffected by other processes.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Measured {
  double make_seconds = 0;    ///< to create the inputs
  double seconds = 1e9;       ///< of the fastest run
  std::size_t num_lines = 0;  ///< including words of local memory
  std::size_t num_operations = 0;
  std::size_t thread_instructions = 0;
  std::size_t published_instructions = 0;  ///< 0: not published
};

void run_once(Recorder& recorder, Measured& measured) {
  const double start = cpu_seconds();
  recorder.rewind();
  measured.num_lines = measured.num_operations = 0;
  while (const auto block = recorder.next()) {
    measured.num_lines += block->lines.size();
    measured.num_operations += block->kinds.size();
  }
  measured.seconds = std::min(measured.seconds, cpu_seconds() - start);
}

Measured measure(const NamedWorkload& workload, double min_seconds) {
  Measured measured;
  const double start = cpu_seconds();
  const auto source = isthmus::workloads::make_workload(workload.name, 1);
  auto& recorder = dynamic_cast<Recorder&>(*source);
  measured.make_seconds = cpu_seconds() - start;
  do run_once(recorder, measured);
  while (cpu_seconds() - start < min_seconds);
  measured.thread_instructions = recorder.thread_instructions();
  measured.published_instructions = recorder.program().thread_instructions;
  return measured;
}

Row row(std::string_view name, const Measured& measured) {
  Row made;
  made.add("workload", std::string(name));
  made.add("lines", measured.num_lines).add("operations", measured.num_operations);
  made.add("thread_instructions", measured.thread_instructions);
  made.add("published_instructions", measured.published_instructions);
  made.add("make_cpu_seconds", measured.make_seconds).add("run_cpu_seconds", measured.seconds);
  made.add("lines_per_s", static_cast<double>(measured.num_lines) / measured.seconds);
  return made;
}

}  // namespace

int main(int count, char** arguments) {
  const double min_seconds = count > 1 ? std::stod(arguments[1]) : 0.5;
  const std::vector<std::string> names(arguments + std::min(count, 2), arguments + count);
  std::vector<Row> rows;
  std::fprintf(stderr, "%-12s %10s %10s %10s %8s %8s %9s %9s\n", "workload", "lines", "operations",
               "M instr.", "publ.", "make s", "run s", "Mlines/s");
  for (const NamedWorkload& workload : isthmus::workloads::workloads()) {
    if (!names.empty() && std::find(names.begin(), names.end(), workload.name) == names.end())
      continue;
    const Measured m = measure(workload, min_seconds);
    rows.push_back(row(workload.name, m));
    std::fprintf(stderr, "%-12s %10zu %10zu %10.2f %8.0f %8.3f %9.4f %9.2f\n", workload.name.data(),
                 m.num_lines, m.num_operations, static_cast<double>(m.thread_instructions) * 1e-6,
                 static_cast<double>(m.published_instructions) * 1e-6, m.make_seconds, m.seconds,
                 static_cast<double>(m.num_lines) / m.seconds * 1e-6);
  }
  std::printf("{\n  \"rows\": %s\n}\n", list(rows).c_str());
  return 0;
}
