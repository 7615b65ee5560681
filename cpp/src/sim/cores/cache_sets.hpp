// The ways of a cache's sets: which lines they hold, since when, and which was least recently used.
// A set of keys with a limit and LRU replacement: for translation look-aside buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/aligned_allocator.hpp"
#include "sim/time.hpp"

namespace isthmus::sim {

/// A way is the index of its tag among all words. A set is contiguous, and aligned for the host
/// CPU: its ways' tags, their last uses, the times at which they are filled, and notes if any.
class CacheSets {
public:
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  static constexpr std::uint32_t kMaxWays = 1024;

  /// A line, and the generation of its page: after the page was evicted, an old entry doesn't
  /// match.
  static std::uint64_t tag_of(std::uint32_t line, std::uint32_t generation) {
    return line | std::uint64_t{generation} << 32U;
  }

  /// num_ways    <= kMaxWays; not 0 if there are sets
  CacheSets(std::size_t num_sets, std::uint32_t num_ways, bool has_notes);

  std::size_t num_sets() const { return num_sets_; }
  /// Empties the cache.
  void clear();

  /// Returns the way of `tag` in the set, and marks it as used; kNowhere if it isn't there.
  std::size_t find(std::size_t set, std::uint64_t tag) {
    const std::size_t first = first_way(set);
    const std::size_t found = index_of(words_.data() + first, tag);
    if (found == kNowhere) return kNowhere;
    std::uint64_t& use = words_[first + found + num_ways_];
    use = next_use(found) | (use & kDirty);
    return first + found;
  }
  /// The least recently used way of a set; if several were never used, the first of them.
  std::size_t oldest(std::size_t set) const {
    const std::size_t first = first_way(set);
    return first + index_in(least(words_.data() + first + num_ways_));
  }
  /// The least recently used way among those filled by `time_ps`; kNowhere if there is none.
  std::size_t oldest_filled(std::size_t set, Picoseconds time_ps) const {
    const std::size_t way = oldest(set);
    return filled_ps(way) <= time_ps ? way : search_oldest_filled(set, time_ps);
  }
  /// The time at which the first way of a set is filled.
  Picoseconds first_fill_ps(std::size_t set) const;

  /// Replaces the line of a way of `set`.
  void replace(std::size_t set, std::size_t way, std::uint64_t tag, Picoseconds filled_ps) {
    words_[way] = tag;
    words_[way + num_ways_] = next_use(way - first_way(set));
    words_[way + 2 * num_ways_] = filled_ps;
  }
  /// Empties a way of `set`, as if it had never been used.
  void drop(std::size_t set, std::size_t way) {
    words_[way] = kNoTag;
    words_[way + num_ways_] = (way - first_way(set)) * kIndex;
    words_[way + 2 * num_ways_] = 0;
  }

  std::uint64_t tag(std::size_t way) const { return words_[way]; }
  Picoseconds filled_ps(std::size_t way) const { return words_[way + 2 * num_ways_]; }
  void set_filled_ps(std::size_t way, Picoseconds time_ps) {
    words_[way + 2 * num_ways_] = time_ps;
  }
  /// True if the line differs from memory.
  bool dirty(std::size_t way) const { return (words_[way + num_ways_] & kDirty) != 0; }
  void set_dirty(std::size_t way) { words_[way + num_ways_] |= kDirty; }
  /// A word for the owner, if there are notes.
  std::uint64_t& note(std::size_t way) { return words_[way + 3 * num_ways_]; }

  /// Prefetches a set into the host CPU's cache.
  void prefetch(std::size_t set) const {
    const std::uint64_t* const words = words_.data() + first_way(set);
    __builtin_prefetch(words);
    __builtin_prefetch(words + num_ways_);
    __builtin_prefetch(words + 2 * num_ways_);
  }

private:
  static constexpr std::uint64_t kNoTag = ~0ULL;
  // A last use: its sequence number, the way's index in its set, and the dirty bit. The smallest is
  // the least recent.
  static constexpr std::uint64_t kDirty = 1;
  static constexpr std::uint64_t kIndex = 2;
  static constexpr std::uint64_t kUse = kIndex * kMaxWays;

  std::size_t first_way(std::size_t set) const { return set * words_per_set_; }
  std::uint64_t next_use(std::size_t index) { return (uses_ += kUse) | index * kIndex; }
  static std::size_t index_in(std::uint64_t use) { return use / kIndex % kMaxWays; }

  // Looks at all ways: leaving the loop early would be mispredicted too often. The loops over the
  // usual numbers of ways are unrolled.
  std::size_t index_of(const std::uint64_t* tags, std::uint64_t tag) const {
    if (num_ways_ == 4) return index_among<4>(tags, tag);
    if (num_ways_ == 8) return index_among<8>(tags, tag);
    std::size_t found = kNowhere;
    for (std::size_t way = 0; way < num_ways_; ++way) found = tags[way] == tag ? way : found;
    return found;
  }
  template <std::size_t NumWays>
  static std::size_t index_among(const std::uint64_t* tags, std::uint64_t tag) {
    std::size_t found = kNowhere;
#pragma GCC unroll 8
    for (std::size_t way = 0; way < NumWays; ++way) found = tags[way] == tag ? way : found;
    return found;
  }
  std::uint64_t least(const std::uint64_t* uses) const {
    if (num_ways_ == 4) return min_of<4>(uses);
    if (num_ways_ == 8) return min_of<8>(uses);
    return *std::min_element(uses, uses + num_ways_);
  }
  template <std::size_t NumWays>
  static std::uint64_t min_of(const std::uint64_t* uses) {
    std::uint64_t least = uses[0];
#pragma GCC unroll 8
    for (std::size_t way = 1; way < NumWays; ++way) least = uses[way] < least ? uses[way] : least;
    return least;
  }
  std::size_t search_oldest_filled(std::size_t set, Picoseconds time_ps) const;

  std::size_t num_sets_;
  std::size_t num_ways_;
  std::size_t words_per_set_;
  std::uint64_t uses_ = 0;
  std::vector<std::uint64_t, AlignedAllocator<std::uint64_t>> words_;
};

/// Fully or set associative; find and insert take constant time.
class Lookaside {
public:
  static constexpr std::uint32_t kAbsent = ~0U;
  static constexpr std::uint64_t kNoKey = ~0ULL;

  /// entries     > 0
  /// ways        divides `entries`; 0: fully associative
  Lookaside(std::uint32_t entries, std::uint32_t ways);

  /// Returns the entry of `key`, and marks it as used; kAbsent if it isn't there.
  std::uint32_t find(std::uint64_t key) {
    if (entries_[newest_].key == key) return newest_;
    return find_older(key);
  }

  /// Replaces the least recently used key of its set. `key` must be absent.
  std::uint32_t insert(std::uint64_t key);

  /// The time when the translation is available: kNever while unknown.
  Picoseconds ready_ps(std::uint32_t entry) const { return entries_[entry].ready_ps; }
  void set_ready_ps(std::uint32_t entry, Picoseconds time_ps) {
    entries_[entry].ready_ps = time_ps;
  }

private:
  /// Half a cache line of the host CPU. A set's entries are a circle from its head, the most
  /// recently used: ever older ones, and then the head again.
  struct Entry {
    std::uint64_t key = kNoKey;
    Picoseconds ready_ps = 0;
    std::uint32_t newer = 0;
    std::uint32_t older = 0;
    std::uint32_t next_in_bucket = kAbsent;
    std::uint32_t set = 0;
  };

  std::size_t bucket_of(std::uint64_t key) const {
    return (key * 0x9E3779B97F4A7C15ULL) >> bucket_shift_;
  }
  std::uint32_t find_older(std::uint64_t key);
  void use(std::uint32_t entry);
  void unchain(std::uint32_t entry);

  std::vector<Entry, AlignedAllocator<Entry>> entries_;
  std::vector<std::uint32_t> heads_;  // of each set
  std::vector<std::uint32_t> buckets_;
  unsigned bucket_shift_ = 0;
  std::uint32_t newest_ = 0;  // last found or inserted: its set's head
};

}  // namespace isthmus::sim
