#include "sim/host_steps.hpp"

#include <algorithm>

namespace isthmus::sim {

Picoseconds HostSteps::take(const trace::HostStep& step, Picoseconds time_ps) {
  if (options_.mode == Mode::programmer) return copy(step, time_ps);
  return machine_.link.coherent ? reach_over(step, time_ps) : take_back(step, time_ps);
}

Picoseconds HostSteps::copy(const trace::HostStep& step, Picoseconds time_ps) {
  if (trace::copies_to_gpu(step.kind)) {
    if (programmer_data_ != ProgrammerData::uploads) return time_ps;
    result_.traffic.copied_to_gpu += step.size_bytes;
    return link_.to_gpu(time_ps, step.size_bytes);
  }
  if (!options_.count_downloads) return time_ps;
  result_.traffic.copied_to_cpu += step.size_bytes;
  return link_.to_cpu(time_ps, step.size_bytes);
}

Picoseconds HostSteps::take_back(const trace::HostStep& step, Picoseconds time_ps) {
  if (step.kind == trace::HostStep::Kind::upload_again) return time_ps;
  const bool advised = options_.hints == Hints::advise;
  const Picoseconds driver_before_ps = driver_back_ps();
  const std::uint64_t bytes = advised && hinted_ != nullptr
                                  ? hinted_->cpu_accesses(step)
                                  : gmmu_.cpu_request(step.address, step.size_bytes);
  if (bytes == 0) return time_ps;
  ++result_.returned_steps;
  if (!options_.count_downloads) return time_ps;
  return link_.to_cpu(time_ps + driver_back_ps() - driver_before_ps, bytes);
}

// What the driver takes for all that has gone back. A program that prefetches to the GPU
// prefetches back, too. Otherwise the CPU faults.
Picoseconds HostSteps::driver_back_ps() const {
  if (options_.hints == Hints::prefetch) {
    return result_.returned_steps * machine_.faults.back_prefetch_ps +
           result_.returned_blocks * machine_.faults.back_prefetch_block_ps;
  }
  return result_.returned_faults * machine_.faults.back_fault_ps +
         result_.returned_pages * machine_.faults.back_page_ps;
}

// The CPU reads and writes what is in the GPU's memory over a coherent link. Its reads take time
// only if downloads count.
Picoseconds HostSteps::reach_over(const trace::HostStep& step, Picoseconds time_ps) {
  using Kind = trace::HostStep::Kind;
  if (step.kind == Kind::upload_again) return time_ps;
  const bool writes = trace::copies_to_gpu(step.kind);
  const std::uint64_t bytes = gmmu_.cpu_access(step.address, step.size_bytes, writes);
  if (bytes == 0) return time_ps;
  if (writes) {
    result_.traffic.remote_to_gpu += bytes;
    return link_.to_gpu(time_ps, bytes);
  }
  result_.traffic.remote_to_cpu += bytes;
  return options_.count_downloads ? link_.to_cpu(time_ps, bytes) : time_ps;
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
  std::uint64_t lines = gmmu_.touched_global_lines();
  if (programmer_data_ == ProgrammerData::touched_all) lines += gmmu_.touched_local_lines();
  if (programmer_data_ == ProgrammerData::touched_pages) lines = lines_of_touched_pages();
  return lines * trace::kLineBytes;
}

std::uint64_t HostSteps::lines_of_touched_pages() const {
  std::uint64_t lines = 0;
  const std::uint32_t of_page = map_.lines_per_page();
  const std::uint64_t pages = std::uint64_t{map_.num_chunks()} * map_.lines_per_chunk() / of_page;
  for (std::uint32_t page = 0; page < pages; ++page) {
    const std::uint32_t first = map_.first_line(page);
    const bool is_local = map_.real_line(first) >= kLocalBase / trace::kLineBytes;
    if (!is_local && residency_.num_touched(first, of_page) != 0) lines += of_page;
  }
  return lines;
}

std::uint64_t HostSteps::accessed_bytes(const trace::Program& program) const {
  if (options_.mode == Mode::migrate) return result_.touched_bytes;
  if (programmer_data_ != ProgrammerData::uploads) {
    return std::min(result_.touched_bytes, result_.traffic.copied_to_gpu);
  }
  std::uint64_t bytes = 0;
  for (const trace::Launch& launch : program.launches) {
    for (const trace::HostStep& step : launch.before) {
      if (!trace::copies_to_gpu(step.kind)) continue;
      bytes += residency_.touched_bytes(step.address, step.address + step.size_bytes);
    }
  }
  return bytes;
}

}  // namespace isthmus::sim
