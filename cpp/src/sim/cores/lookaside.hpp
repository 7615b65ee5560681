// A set of keys with a limit and LRU replacement: for translation look-aside buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/aligned_allocator.hpp"
#include "sim/time.hpp"

namespace isthmus::sim {

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
