#include "sim/partitions.hpp"

#include <algorithm>

#include "trace/trace.hpp"

namespace isthmus::sim {

Picoseconds port_line_ps(const Machine& machine) {
  const std::uint64_t bytes = machine.network.port_bytes_per_cycle;
  return (trace::kLineBytes * cycle_ps(machine.cores.clock_hz) + bytes - 1) / bytes;
}

MemoryPartitions::MemoryPartitions(const Machine& machine, CacheCounts& counts)
    : port_line_ps_(port_line_ps(machine)),
      dram_line_ps_(transfer_ps(trace::kLineBytes, machine.partitions.dram_bytes_per_s)),
      dram_latency_ps_(machine.partitions.dram_cycles * cycle_ps(machine.cores.clock_hz)),
      return_ps_((machine.partitions.l2_cycles + machine.network.latency_cycles) *
                 cycle_ps(machine.cores.clock_hz)),
      sets_(0),
      num_ways_(machine.partitions.l2_size_bytes == 0 ? 0 : machine.partitions.l2_ways),
      port_free_ps_(machine.partitions.count, 0),
      dram_free_ps_(machine.partitions.count, 0),
      counts_(counts) {
  if (num_ways_ != 0) sets_ = machine.partitions.l2_size_bytes / trace::kLineBytes / num_ways_;
  const std::size_t num_sets = machine.partitions.count * sets_;
  words_.assign(num_sets * num_ways_ * 3, 0);
  for (std::size_t set = 0; set < num_sets; ++set) {
    const auto first = words_.begin() + static_cast<std::ptrdiff_t>(set * num_ways_ * 3);
    std::fill_n(first, num_ways_, kNoTag);
  }
}

Picoseconds MemoryPartitions::store(PlacedLine place, std::uint32_t generation,
                                    Picoseconds time_ps) {
  const Picoseconds through = pass_port(place.partition(), time_ps);
  std::size_t way = find(place, generation);
  if (way != kNowhere) {
    ++counts_.l2_hits;
    used(way) |= kDirty;
    return through;
  }
  ++counts_.l2_misses;
  way = allocate(place, generation, through);
  if (way == kNowhere) {
    ++counts_.dram_writes;
    return use_dram(place.partition(), through);
  }
  filled_ps(way) = through;
  used(way) |= kDirty;
  return through;
}

std::size_t MemoryPartitions::allocate(PlacedLine place, std::uint32_t generation,
                                       Picoseconds time_ps) {
  if (num_ways_ == 0) return kNowhere;
  const std::size_t first = first_way(place);
  const std::uint64_t* const uses = &used(first);
  std::size_t oldest = 0;
  std::uint64_t oldest_use = uses[0];
  for (std::size_t way = 1; way < num_ways_; ++way) {
    const bool older = uses[way] < oldest_use;
    oldest = older ? way : oldest;
    oldest_use = older ? uses[way] : oldest_use;
  }
  oldest += first;
  if ((used(oldest) & kDirty) != 0) {
    ++counts_.dram_writes;
    use_dram(place.partition(), time_ps);
  }
  words_[oldest] = tag_of(place, generation);
  used(oldest) = uses_ += 2;
  return oldest;
}

}  // namespace isthmus::sim
