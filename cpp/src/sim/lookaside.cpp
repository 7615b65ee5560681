#include "sim/lookaside.hpp"

#include <algorithm>
#include <bit>

namespace isthmus::sim {

Lookaside::Lookaside(std::uint32_t entries, std::uint32_t ways)
    : keys_(entries, kNoKey),
      ready_ps_(entries, 0),
      newer_(entries),
      older_(entries),
      heads_(ways == 0 ? 1 : entries / ways),
      buckets_(std::bit_ceil(std::size_t{entries} * 2), kAbsent),
      chain_(entries, kAbsent),
      bucket_shift_(64U - static_cast<unsigned>(std::countr_zero(buckets_.size()))) {
  const std::uint32_t in_set = ways == 0 ? entries : ways;
  for (std::uint32_t entry = 0; entry < entries; ++entry) {
    const std::uint32_t first = entry / in_set * in_set;
    older_[entry] = first + (entry - first + 1) % in_set;
    newer_[entry] = first + (entry - first + in_set - 1) % in_set;
  }
  for (std::uint32_t set = 0; set < heads_.size(); ++set) heads_[set] = set * in_set;
}

std::uint32_t Lookaside::find_older(std::uint64_t key) {
  std::uint32_t entry = buckets_[bucket_of(key)];
  while (entry != kAbsent && keys_[entry] != key) entry = chain_[entry];
  if (entry != kAbsent) {
    use(entry, set_of(key));
    newest_ = entry;
  }
  return entry;
}

std::uint32_t Lookaside::insert(std::uint64_t key) {
  const std::size_t set = set_of(key);
  const std::uint32_t entry = newer_[heads_[set]];  // around the circle: the oldest
  if (keys_[entry] != kNoKey) unchain(entry);
  keys_[entry] = key;
  std::uint32_t& bucket = buckets_[bucket_of(key)];
  chain_[entry] = bucket;
  bucket = entry;
  heads_[set] = entry;
  newest_ = entry;
  return entry;
}

void Lookaside::use(std::uint32_t entry, std::size_t set) {
  const std::uint32_t head = heads_[set];
  if (entry == head) return;
  older_[newer_[entry]] = older_[entry];
  newer_[older_[entry]] = newer_[entry];
  const std::uint32_t oldest = newer_[head];
  newer_[entry] = oldest;
  older_[oldest] = entry;
  older_[entry] = head;
  newer_[head] = entry;
  heads_[set] = entry;
}

void Lookaside::unchain(std::uint32_t entry) {
  std::uint32_t* link = &buckets_[bucket_of(keys_[entry])];
  while (*link != entry) link = &chain_[*link];
  *link = chain_[entry];
}

}  // namespace isthmus::sim
