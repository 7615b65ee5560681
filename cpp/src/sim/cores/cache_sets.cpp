#include "sim/cores/cache_sets.hpp"

namespace isthmus::sim {

CacheSets::CacheSets(std::size_t num_sets, std::uint32_t num_ways, bool has_notes)
    : num_sets_(num_sets),
      num_ways_(num_ways),
      words_per_set_(std::size_t{num_ways} * (has_notes ? 4 : 3)),
      words_(num_sets * words_per_set_) {
  clear();
}

void CacheSets::clear() {
  for (std::size_t set = 0; set < num_sets_; ++set) {
    for (std::size_t index = 0; index < num_ways_; ++index) drop(set, first_way(set) + index);
  }
}

std::size_t CacheSets::search_oldest_filled(std::size_t set, Picoseconds time_ps) const {
  std::size_t oldest = kNowhere;
  std::uint64_t oldest_use = ~0ULL;
  for (std::size_t way = first_way(set); way < first_way(set) + num_ways_; ++way) {
    if (filled_ps(way) > time_ps || words_[way + num_ways_] >= oldest_use) continue;
    oldest = way;
    oldest_use = words_[way + num_ways_];
  }
  return oldest;
}

Picoseconds CacheSets::first_fill_ps(std::size_t set) const {
  const std::uint64_t* const fills = words_.data() + first_way(set) + 2 * num_ways_;
  return *std::min_element(fills, fills + num_ways_);
}

}  // namespace isthmus::sim
