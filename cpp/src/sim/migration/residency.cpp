#include "sim/migration/residency.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace isthmus::sim {

void Residency::add_chunk(bool valid, bool count) {
  const std::size_t lines = map_.lines_per_chunk();
  words_.resize(words_.size() + lines / 64, {valid ? ~0ULL : 0, valid && !count ? ~0ULL : 0});
  generations_.resize(generations_.size() + lines / map_.lines_per_page(), {0, 0});
  ++num_chunks_;
}

template <class Words, class Visit>
void Residency::for_words(Words& words, std::uint32_t first_line, std::uint32_t num_lines,
                          Visit&& visit) {
  for (std::uint64_t line = first_line, end = line + num_lines; line < end;) {
    const std::uint64_t next = std::min(end, (line / 64 + 1) * 64);
    const std::uint64_t count = next - line;
    const std::uint64_t ones = count == 64 ? ~0ULL : (1ULL << count) - 1;
    visit(words[line / 64], ones << (line % 64));
    line = next;
  }
}

std::uint32_t Residency::num_touched(std::uint32_t first_line, std::uint32_t num_lines) const {
  std::uint32_t found = 0;
  for_words(words_, first_line, num_lines, [&](const Word& word, std::uint64_t bits) {
    found += static_cast<std::uint32_t>(std::popcount(word.touched & bits));
  });
  return found;
}

std::uint64_t Residency::touched_bytes(std::uint64_t begin, std::uint64_t end) const {
  using trace::kLineBytes;
  std::uint64_t bytes = 0;
  for (const std::uint64_t chunk : map_.placed_chunks(begin, end)) {
    const std::uint64_t from = std::max(begin, chunk) - chunk;
    const std::uint64_t to = std::min(end - chunk, map_.lines_per_chunk() * kLineBytes);
    const std::uint32_t line = map_.first_line(map_.page_at(chunk));
    const auto first = line + static_cast<std::uint32_t>(from / kLineBytes);
    const auto last = line + static_cast<std::uint32_t>((to - 1) / kLineBytes);
    bytes += num_touched(first, last - first + 1) * kLineBytes;
    // Of the first line and of the last one, only a part may be meant.
    if (num_touched(first, 1) != 0) bytes -= from % kLineBytes;
    if (num_touched(last, 1) != 0) bytes -= (last - line + 1) * kLineBytes - to;
  }
  return bytes;
}

void Residency::make_valid(std::uint32_t first_line, std::uint32_t num_lines) {
  for_words(words_, first_line, num_lines,
            [](Word& word, std::uint64_t bits) { word.valid |= bits; });
}

void Residency::make_valid_here(std::uint32_t first_line, std::uint32_t num_lines) {
  for_words(words_, first_line, num_lines, [](Word& word, std::uint64_t bits) {
    word.valid |= bits;
    word.touched |= bits;
  });
}

void Residency::make_invalid(std::uint32_t first_line, std::uint32_t num_lines) {
  for_words(words_, first_line, num_lines, [](Word& word, std::uint64_t bits) {
    word.valid &= ~bits;
    word.touched &= ~bits;
  });
}

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
