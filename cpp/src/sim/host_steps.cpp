#include "sim/host_steps.hpp"

#include <algorithm>

namespace isthmus::sim {

Picoseconds HostSteps::take(const trace::HostStep& step, Picoseconds time_ps) const {
  if (options.mode == Mode::programmer) return copy(step, time_ps);
  return machine.link.coherent ? reach_over(step, time_ps) : take_back(step, time_ps);
}

Picoseconds HostSteps::copy(const trace::HostStep& step, Picoseconds time_ps) const {
  if (trace::copies_to_gpu(step.kind)) {
    if (programmer_data != ProgrammerData::uploads) return time_ps;
    result.traffic.copied_to_gpu += step.size_bytes;
    return link.to_gpu(time_ps, step.size_bytes);
  }
  if (!options.count_downloads) return time_ps;
  result.traffic.copied_to_cpu += step.size_bytes;
  return link.to_cpu(time_ps, step.size_bytes);
}

Picoseconds HostSteps::take_back(const trace::HostStep& step, Picoseconds time_ps) const {
  if (step.kind == trace::HostStep::Kind::upload_again) return time_ps;
  const bool advised = options.hints == Hints::advise;
  const Picoseconds driver_before_ps = driver_back_ps();
  const std::uint64_t bytes = advised && hinted ? hinted->cpu_accesses(step)
                                                : gmmu.cpu_request(step.address, step.size_bytes);
  if (bytes == 0) return time_ps;
  ++result.returned_steps;
  if (!options.count_downloads) return time_ps;
  return link.to_cpu(time_ps + driver_back_ps() - driver_before_ps, bytes);
}

// What the driver takes for all that has gone back. A program that prefetches to the GPU
// prefetches back, too. Otherwise the CPU faults.
Picoseconds HostSteps::driver_back_ps() const {
  if (options.hints == Hints::prefetch) {
    return result.returned_steps * machine.faults.back_prefetch_ps +
           result.returned_blocks * machine.faults.back_prefetch_block_ps;
  }
  return result.returned_faults * machine.faults.back_fault_ps +
         result.returned_pages * machine.faults.back_page_ps;
}

// The CPU reads and writes what is in the GPU's memory over a coherent link. Its reads take time
// only if downloads count.
Picoseconds HostSteps::reach_over(const trace::HostStep& step, Picoseconds time_ps) const {
  using Kind = trace::HostStep::Kind;
  if (step.kind == Kind::upload_again) return time_ps;
  const bool writes = trace::copies_to_gpu(step.kind);
  const std::uint64_t bytes = gmmu.cpu_access(step.address, step.size_bytes, writes);
  if (bytes == 0) return time_ps;
  if (writes) {
    result.traffic.remote_to_gpu += bytes;
    return link.to_gpu(time_ps, bytes);
  }
  result.traffic.remote_to_cpu += bytes;
  return options.count_downloads ? link.to_cpu(time_ps, bytes) : time_ps;
}

ProgrammerData HostSteps::data_of_programmer(const Options& options,
                                             const trace::Program& program) {
  if (options.programmer_data != ProgrammerData::uploads_or_touched) return options.programmer_data;
  const auto copies = [](const trace::HostStep& step) {
    return trace::copies_to_gpu(step.kind) && step.size_bytes != 0;
  };
  const bool uploads = std::ranges::any_of(program.launches, [&](const trace::Launch& launch) {
    return std::ranges::any_of(launch.before, copies);
  });
  return uploads ? ProgrammerData::uploads : ProgrammerData::touched_global;
}

std::uint64_t HostSteps::bytes_to_copy() const {
  std::uint64_t lines = gmmu.touched_global_lines();
  if (programmer_data == ProgrammerData::touched_all) lines += gmmu.touched_local_lines();
  if (programmer_data == ProgrammerData::touched_pages) lines = lines_of_touched_pages();
  return lines * trace::kLineBytes;
}

std::uint64_t HostSteps::lines_of_touched_pages() const {
  std::uint64_t lines = 0;
  const std::uint32_t of_page = map.lines_per_page();
  const std::uint64_t pages = std::uint64_t{map.num_chunks()} * map.lines_per_chunk() / of_page;
  for (std::uint32_t page = 0; page < pages; ++page) {
    const std::uint32_t first = map.first_line(page);
    const bool is_local = map.real_line(first) >= kLocalBase / trace::kLineBytes;
    if (!is_local && residency.num_touched(first, of_page) != 0) lines += of_page;
  }
  return lines;
}

std::uint64_t HostSteps::accessed_bytes() const {
  if (options.mode == Mode::migrate) return result.touched_bytes;
  if (programmer_data != ProgrammerData::uploads) {
    return std::min(result.touched_bytes, result.traffic.copied_to_gpu);
  }
  std::uint64_t bytes = 0;
  for (const trace::Launch& launch : program.launches) {
    for (const trace::HostStep& step : launch.before) {
      if (!trace::copies_to_gpu(step.kind)) continue;
      bytes += residency.touched_bytes(step.address, step.address + step.size_bytes);
    }
  }
  return bytes;
}

}  // namespace isthmus::sim
