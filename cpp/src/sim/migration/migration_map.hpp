// Which migration brings a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace isthmus::sim {

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
