#include "sim/migration/migration_map.hpp"

#include <algorithm>
#include <span>

namespace isthmus::sim {

template <class Change>
void MigrationMap::for_stretches(std::uint32_t first_line, std::uint32_t num_lines,
                                 Change&& change) {
  for (std::uint64_t line = first_line, end = line + num_lines; line < end;) {
    const std::uint64_t index = line / kStretchLines;
    const std::uint64_t next = std::min(end, (index + 1) * kStretchLines);
    if (index >= stretches_.size()) stretches_.resize(index + 1);
    Stretch& stretch = stretches_[index];
    if (stretch.entries == kNone) add_entries(stretch);
    change(stretch, std::span(entries_).subspan(entry(stretch, static_cast<std::uint32_t>(line)),
                                                next - line));
    if (stretch.num_known == 0) {
      free_entries_.push_back(stretch.entries);
      stretch.entries = kNone;
    }
    line = next;
  }
}

void MigrationMap::set(std::uint32_t first_line, std::uint32_t num_lines, std::uint32_t migration) {
  for_stretches(first_line, num_lines, [=](Stretch& stretch, std::span<std::uint32_t> entries) {
    stretch.num_known += static_cast<std::uint32_t>(std::ranges::count(entries, kNone));
    std::ranges::fill(entries, migration);
  });
}

void MigrationMap::clear(std::uint32_t first_line, std::uint32_t num_lines,
                         std::uint32_t migration) {
  for_stretches(first_line, num_lines, [=](Stretch& stretch, std::span<std::uint32_t> entries) {
    stretch.num_known -= static_cast<std::uint32_t>(std::ranges::count(entries, migration));
    std::ranges::replace(entries, migration, kNone);
  });
}

void MigrationMap::add_entries(Stretch& stretch) {
  if (free_entries_.empty()) {
    free_entries_.push_back(static_cast<std::uint32_t>(entries_.size() / kStretchLines));
    entries_.resize(entries_.size() + kStretchLines, kNone);
  }
  stretch.entries = free_entries_.back();
  free_entries_.pop_back();
}

}  // namespace isthmus::sim
