// Which lines are resident, in flat arrays: the first thing that every request looks up.
// Which migration brings a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/migration/address_map.hpp"

namespace isthmus::sim {

/// By line number. The page table knows more; every line valid here is valid there.
class Residency {
public:
  explicit Residency(const AddressMap& map) : map_(map) {}

  /// Adds chunks that are new in the map: `valid` tells whether all of a chunk is resident.
  ///
  /// count       whether what is touched of these counts
  template <class Valid>
  void grow(Valid&& valid, bool count) {
    while (num_chunks_ < map_.num_chunks()) add_chunk(valid(num_chunks_), count);
  }

  void prefetch(std::uint32_t line) const { __builtin_prefetch(&words_[line / 64]); }
  bool valid(std::uint32_t line) const { return words_[line / 64].valid >> (line % 64) & 1U; }
  /// True the first time since the line arrived.
  bool touch(std::uint32_t line) {
    std::uint64_t& word = words_[line / 64].touched;
    const std::uint64_t bit = 1ULL << (line % 64);
    const bool first = (word & bit) == 0;
    word |= bit;
    return first;
  }
  /// How many lines of [first_line, first_line + num_lines) were touched since they arrived.
  std::uint32_t num_touched(std::uint32_t first_line, std::uint32_t num_lines) const;
  /// The bytes of [begin, end) in such lines; both are addresses.
  std::uint64_t touched_bytes(std::uint64_t begin, std::uint64_t end) const;
  void make_valid(std::uint32_t first_line, std::uint32_t num_lines);
  /// The same for lines that don't arrive: what is touched of them isn't counted.
  void make_valid_here(std::uint32_t first_line, std::uint32_t num_lines);
  void make_invalid(std::uint32_t first_line, std::uint32_t num_lines);

  /// Changes when a page is evicted, which invalidates its entries in caches (and TLBs).
  std::uint32_t generation(std::uint32_t page) const {
    return any_left_ ? generations_[page].cached : 0;
  }
  /// Changes when entries of TLBs alone become invalid, too.
  std::uint32_t translation(std::uint32_t page) const {
    return any_left_ ? generations_[page].translated : 0;
  }
  void leave(std::uint32_t page) {
    ++generations_[page].cached;
    forget_translation(page);
  }
  void forget_translation(std::uint32_t page) {
    any_left_ = true;
    ++generations_[page].translated;
  }

private:
  struct Word {
    std::uint64_t valid;
    std::uint64_t touched;
  };
  struct Generations {
    std::uint32_t cached;
    std::uint32_t translated;
  };
  void add_chunk(bool valid, bool count);
  /// Calls `visit` with each word of these lines, and their bits in it.
  template <class Words, class Visit>
  static void for_words(Words& words, std::uint32_t first_line, std::uint32_t num_lines,
                        Visit&& visit);

  const AddressMap& map_;
  std::uint32_t num_chunks_ = 0;
  bool any_left_ = false;
  std::vector<Word> words_;
  std::vector<Generations> generations_;
};

/// Maps lines in flight, which are few, to their migration. Only stretches of lines with at least
/// one in flight have entries.
class MigrationMap {
public:
  static constexpr std::uint32_t kNone = ~0U;

  std::uint32_t at(std::uint32_t line) const {
    const std::size_t stretch = line / kStretchLines;
    if (stretch >= stretches_.size() || stretches_[stretch].entries == kNone) return kNone;
    return entries_[entry(stretches_[stretch], line)];
  }
  void set(std::uint32_t first_line, std::uint32_t num_lines, std::uint32_t migration);
  /// Forgets `migration`, but not another one that has replaced it for a line.
  void clear(std::uint32_t first_line, std::uint32_t num_lines, std::uint32_t migration);

  /// Bytes of entries, used or not.
  std::size_t held_bytes() const { return entries_.capacity() * sizeof(std::uint32_t); }

private:
  static constexpr std::uint32_t kStretchLines = 256;  // 32 KiB; their entries: 1 KiB

  struct Stretch {
    std::uint32_t entries = kNone;  // index of the stretch in entries_
    std::uint32_t num_known = 0;    // lines with a known migration
  };
  static std::size_t entry(const Stretch& stretch, std::uint32_t line) {
    return std::size_t{stretch.entries} * kStretchLines + line % kStretchLines;
  }
  template <class Change>
  void for_stretches(std::uint32_t first_line, std::uint32_t num_lines, Change&& change);
  void add_entries(Stretch& stretch);

  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> entries_;
  std::vector<std::uint32_t> free_entries_;  // all of these are kNone
};

}  // namespace isthmus::sim
