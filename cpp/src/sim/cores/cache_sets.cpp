#include "sim/cores/cache_sets.hpp"

#include <algorithm>
#include <bit>

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

Lookaside::Lookaside(std::uint32_t entries, std::uint32_t ways)
    : entries_(entries),
      heads_(ways == 0 ? 1 : entries / ways),
      buckets_(std::bit_ceil(std::size_t{entries} * 2), kAbsent),
      bucket_shift_(64U - static_cast<unsigned>(std::countr_zero(buckets_.size()))) {
  const std::uint32_t in_set = ways == 0 ? entries : ways;
  for (std::uint32_t index = 0; index < entries; ++index) {
    const std::uint32_t set = index / in_set;
    const std::uint32_t first = set * in_set;
    Entry& entry = entries_[index];
    entry.older = first + (index - first + 1) % in_set;
    entry.newer = first + (index - first + in_set - 1) % in_set;
    entry.set = set;
  }
  for (std::uint32_t set = 0; set < heads_.size(); ++set) heads_[set] = set * in_set;
}

std::uint32_t Lookaside::find_older(std::uint64_t key) {
  std::uint32_t entry = buckets_[bucket_of(key)];
  while (entry != kAbsent && entries_[entry].key != key) entry = entries_[entry].next_in_bucket;
  if (entry != kAbsent) {
    use(entry);
    newest_ = entry;
  }
  return entry;
}

std::uint32_t Lookaside::insert(std::uint64_t key) {
  std::uint32_t& head = heads_[key % heads_.size()];
  const std::uint32_t index = entries_[head].newer;  // around the circle: the oldest
  Entry& entry = entries_[index];
  if (entry.key != kNoKey) unchain(index);
  entry.key = key;
  std::uint32_t& bucket = buckets_[bucket_of(key)];
  entry.next_in_bucket = bucket;
  bucket = index;
  head = index;
  newest_ = index;
  return index;
}

// Moves an entry to the head of its circle.
void Lookaside::use(std::uint32_t index) {
  Entry& entry = entries_[index];
  std::uint32_t& head = heads_[entry.set];
  if (index == head) return;
  entries_[entry.newer].older = entry.older;
  entries_[entry.older].newer = entry.newer;
  const std::uint32_t oldest = entries_[head].newer;
  entry.newer = oldest;
  entries_[oldest].older = index;
  entry.older = head;
  entries_[head].newer = index;
  head = index;
}

void Lookaside::unchain(std::uint32_t index) {
  std::uint32_t* link = &buckets_[bucket_of(entries_[index].key)];
  while (*link != index) link = &entries_[*link].next_in_bucket;
  *link = entries_[index].next_in_bucket;
}

}  // namespace isthmus::sim
