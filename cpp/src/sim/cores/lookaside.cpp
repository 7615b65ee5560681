#include "sim/cores/lookaside.hpp"

#include <algorithm>
#include <bit>

namespace isthmus::sim {

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
