// The memory side: each partition has a port, an L2 slice and a DRAM channel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/cores/cache_sets.hpp"
#include "sim/cores/schedule.hpp"
#include "sim/machine.hpp"
#include "sim/result.hpp"

namespace isthmus::sim {

/// How long a line keeps a partition's port busy.
Picoseconds port_line_ps(const ModelledMachine& machine);

/// L2 and DRAM of all partitions. L2 is write-back and LRU; a store allocates without a fetch.
class MemoryPartitions {
public:
  MemoryPartitions(const ModelledMachine& machine, CacheCounts& counts);

  /// Serves a line request that is at its partition now. Calls must be in order of time.
  ///
  /// generation  of the line's page
  /// Returns     for loads, when the data is at the core; for stores, when L2 has taken it.
  Picoseconds load(PlacedLine place, std::uint32_t generation, Picoseconds time_ps, bool changes) {
    const Picoseconds through = pass_port(place.partition(), time_ps);
    const std::uint64_t tag = CacheSets::tag_of(place.line(), generation);
    std::size_t way = find(place, tag);
    Picoseconds filled = through;
    if (way != CacheSets::kNowhere) {
      ++counts_.l2_hits;
      filled = std::max(through, l2_.filled_ps(way));
    } else {
      ++counts_.l2_misses;
      filled = read_dram(place.partition(), through);
      way = allocate(place, tag, through, filled);
    }
    if (changes && way != CacheSets::kNowhere) l2_.set_dirty(way);
    return filled + return_ps_;
  }
  Picoseconds store(PlacedLine place, std::uint32_t generation, Picoseconds time_ps) {
    const Picoseconds through = pass_port(place.partition(), time_ps);
    const std::uint64_t tag = CacheSets::tag_of(place.line(), generation);
    std::size_t way = find(place, tag);
    if (way != CacheSets::kNowhere) {
      ++counts_.l2_hits;
    } else {
      ++counts_.l2_misses;
      way = allocate(place, tag, through, through);
      if (way == CacheSets::kNowhere) return write_dram(place.partition(), through);
    }
    l2_.set_dirty(way);
    return through;
  }

  /// Lines of the CPU's memory, on a coherent link. L2 has copies of them that are never dirty:
  /// stores and atomics go on to the CPU.
  ///
  /// fetch       called with the time at which the line is missed; returns when it is here
  template <class Fetch>
  Picoseconds load_remote(PlacedLine place, std::uint32_t generation, Picoseconds time_ps,
                          Fetch&& fetch) {
    const Picoseconds through = pass_port(place.partition(), time_ps);
    const std::uint64_t tag = remote_tag(place, generation);
    const std::size_t way = find(place, tag);
    if (way != CacheSets::kNowhere) {
      ++counts_.l2_hits;
      return std::max(through, l2_.filled_ps(way)) + return_ps_;
    }
    ++counts_.l2_misses;
    const Picoseconds filled = fetch(through);
    allocate(place, tag, through, filled);
    return filled + return_ps_;
  }
  bool has_remote(PlacedLine place, std::uint32_t generation) {
    return find(place, remote_tag(place, generation)) != CacheSets::kNowhere;
  }
  /// A store or an atomic on its way to the CPU. Returns when it is through the port.
  Picoseconds pass_to_cpu(PlacedLine place, std::uint32_t generation, Picoseconds time_ps) {
    const std::size_t way = find(place, remote_tag(place, generation));
    if (way != CacheSets::kNowhere) l2_.drop(set_of(place), way);
    return pass_port(place.partition(), time_ps);
  }
  /// The way back of a line that has crossed the link.
  Picoseconds return_ps() const { return return_ps_; }

  /// A line that has migrated is written to its partition's DRAM.
  void arrive(PlacedLine place, Picoseconds time_ps) { write_dram(place.partition(), time_ps); }

  /// Prefetches the data that a request will use into the host CPU's cache.
  void prefetch(PlacedLine place) const { l2_.prefetch(set_of(place)); }

private:
  std::size_t set_of(PlacedLine place) const {
    return place.partition() * sets_per_partition_ + place.set();
  }
  Picoseconds pass_port(std::uint32_t partition, Picoseconds time_ps) {
    Picoseconds& free_ps = port_free_ps_[partition];
    free_ps = std::max(free_ps, time_ps) + port_line_ps_;
    return free_ps;
  }
  Picoseconds use_dram(std::uint32_t partition, Picoseconds time_ps) {
    Picoseconds& free_ps = dram_free_ps_[partition];
    free_ps = std::max(free_ps, time_ps) + dram_line_ps_;
    return free_ps;
  }
  Picoseconds read_dram(std::uint32_t partition, Picoseconds time_ps) {
    ++counts_.dram_reads;
    return use_dram(partition, time_ps) + dram_latency_ps_;
  }
  Picoseconds write_dram(std::uint32_t partition, Picoseconds time_ps) {
    ++counts_.dram_writes;
    return use_dram(partition, time_ps);
  }
  // A line that migrates changes its physical address, so its copy isn't found any more.
  static std::uint64_t remote_tag(PlacedLine place, std::uint32_t generation) {
    return CacheSets::tag_of(place.line(), generation | 1U << 31U);
  }
  std::size_t find(PlacedLine place, std::uint64_t tag) {
    return sets_per_partition_ == 0 ? CacheSets::kNowhere : l2_.find(set_of(place), tag);
  }
  // Writes back the displaced line, if it is dirty.
  std::size_t allocate(PlacedLine place, std::uint64_t tag, Picoseconds time_ps,
                       Picoseconds filled_ps) {
    if (sets_per_partition_ == 0) return CacheSets::kNowhere;
    const std::size_t set = set_of(place);
    const std::size_t way = l2_.oldest(set);
    if (l2_.dirty(way)) write_dram(place.partition(), time_ps);
    l2_.replace(set, way, tag, filled_ps);
    return way;
  }

  Picoseconds port_line_ps_;
  Picoseconds dram_line_ps_;
  Picoseconds dram_latency_ps_;
  Picoseconds return_ps_;           // L2 lookup and the way back
  std::size_t sets_per_partition_;  // 0: no L2
  CacheSets l2_;                    // for all partitions
  std::vector<Picoseconds> port_free_ps_, dram_free_ps_;
  CacheCounts& counts_;
};

}  // namespace isthmus::sim
