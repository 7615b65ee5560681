#include "memory/address_map.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace isthmus::emulator {

const Range* AddressMap::covering(std::uintptr_t address, std::size_t size_bytes) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = std::prev(after)->second;
  const std::size_t offset = address - range.base;
  const std::size_t wanted = std::max<std::size_t>(size_bytes, 1);
  const bool covered = offset < range.size_bytes && wanted <= range.size_bytes - offset;
  return covered ? &range : nullptr;
}

const Range* AddressMap::first_in(std::uintptr_t address, std::size_t size_bytes) const {
  if (const Range* range = covering(address, 1)) return range;
  const auto next = ranges_.upper_bound(address);
  const bool overlaps = next != ranges_.end() && next->first - address < size_bytes;
  return overlaps ? &next->second : nullptr;
}

std::optional<Range> AddressMap::remove(std::uintptr_t base, RangeKind kind) {
  const auto found = ranges_.find(base);
  if (found == ranges_.end() || found->second.kind != kind) return std::nullopt;
  Range range = std::move(found->second);
  ranges_.erase(found);
  return range;
}

std::vector<Range> AddressMap::remove_all_of(const Context& context) {
  std::vector<Range> removed;
  std::erase_if(ranges_, [&](const auto& row) {
    const bool mine = row.second.context == &context;
    if (mine) removed.push_back(row.second);
    return mine;
  });
  return removed;
}

std::size_t AddressMap::total_bytes(RangeKind kind) const {
  std::size_t total = 0;
  for (const auto& [base, range] : ranges_) total += range.kind == kind ? range.size_bytes : 0;
  return total;
}

std::size_t AddressMap::count(RangeKind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count(ranges_, kind, [](const auto& row) { return row.second.kind; }));
}

}  // namespace isthmus::emulator
