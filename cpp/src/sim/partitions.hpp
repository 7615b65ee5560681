// The memory side: for each partition a port, an L2 slice and a DRAM channel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/machine.hpp"
#include "sim/result.hpp"
#include "sim/schedule.hpp"

namespace isthmus::sim {

/// How long a line keeps a partition's port busy.
Picoseconds port_line_ps(const Machine& machine);

/// L2 and DRAM of all partitions. L2 is write-back and LRU; a store allocates without a fetch.
class MemoryPartitions {
public:
  MemoryPartitions(const Machine& machine, CacheCounts& counts);

  /// Serves a line request that is at its partition now, calls being in the order of time.
  ///
  /// generation  of the line's page
  /// Returns     loads: when its data is at the core. Stores: when L2 has taken it.
  Picoseconds load(PlacedLine place, std::uint32_t generation, Picoseconds time_ps, bool changes) {
    const Picoseconds through = pass_port(place.partition(), time_ps);
    std::size_t way = find(place, generation);
    Picoseconds filled = through;
    if (way != kNowhere) {
      ++counts_.l2_hits;
      filled = std::max(through, filled_ps(way));
    } else {
      ++counts_.l2_misses;
      filled = read_dram(place.partition(), through);
      way = allocate(place, generation, through);
      if (way != kNowhere) filled_ps(way) = filled;
    }
    if (changes && way != kNowhere) used(way) |= kDirty;
    return filled + return_ps_;
  }
  Picoseconds store(PlacedLine place, std::uint32_t generation, Picoseconds time_ps);

  /// Brings what a request will look at into the cache of the CPU that simulates.
  void prefetch(PlacedLine place) const {
    const std::uint64_t* const set = words_.data() + first_way(place);
    __builtin_prefetch(set);
    __builtin_prefetch(set + num_ways_);
    __builtin_prefetch(set + 2 * num_ways_);
  }

private:
  static constexpr std::uint64_t kNoTag = ~0ULL;
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  static constexpr std::uint64_t kDirty = 1;  // in the last use, which is even

  static std::uint64_t tag_of(PlacedLine place, std::uint32_t generation) {
    return place.line() | std::uint64_t{generation} << 32U;
  }
  // A set lies together: its ways' tags, the times at which they are filled, and their last uses.
  // A way is the index of its tag.
  std::size_t first_way(PlacedLine place) const {
    return (place.partition() * sets_ + place.set()) * num_ways_ * 3;
  }
  Picoseconds& filled_ps(std::size_t way) { return words_[way + num_ways_]; }
  std::uint64_t& used(std::size_t way) { return words_[way + 2 * num_ways_]; }
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
  std::size_t find(PlacedLine place, std::uint32_t generation) {
    const std::uint64_t tag = tag_of(place, generation);
    const std::size_t first = first_way(place);
    const std::uint64_t* const tags = words_.data() + first;
    std::size_t found =
        kNowhere;  // all are looked at: a jump out of the loop would be guessed wrong
    for (std::size_t way = 0; way < num_ways_; ++way) found = tags[way] == tag ? way : found;
    if (found == kNowhere) return kNowhere;
    used(first + found) = (uses_ += 2) | (used(first + found) & kDirty);
    return first + found;
  }
  std::size_t allocate(PlacedLine place, std::uint32_t generation, Picoseconds time_ps);

  Picoseconds port_line_ps_;
  Picoseconds dram_line_ps_;
  Picoseconds dram_latency_ps_;
  Picoseconds return_ps_;  // L2's lookup and the way back
  std::uint64_t sets_;
  std::uint64_t num_ways_;
  std::uint64_t uses_ = 0;
  std::vector<std::uint64_t> words_;
  std::vector<Picoseconds> port_free_ps_, dram_free_ps_;
  CacheCounts& counts_;
};

}  // namespace isthmus::sim
