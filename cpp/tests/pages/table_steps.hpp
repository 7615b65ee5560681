// Steps of tests over a page table.
#pragma once

#include <algorithm>
#include <ostream>
#include <vector>

#include "pages/page_table.hpp"
#include "pages/policy_names.hpp"

namespace isthmus::pages {

inline void PrintTo(const Span& span, std::ostream* stream) {
  *stream << "[" << span.offset_bytes << ", " << span.end_bytes() << ")";
}

/// An answer with a copy of its transfers.
struct Found {
  Outcome outcome = Outcome::hit;
  std::uint32_t slot = 0;
  std::uint32_t epoch = 0;
  std::vector<Span> transfers;
};

inline Found ask(PageTable& table, std::uint64_t address, std::uint32_t length_bytes,
                 bool is_write = false) {
  const Answer answer = table.request(address, length_bytes, is_write);
  return {answer.outcome,
          answer.slot,
          answer.epoch,
          {answer.transfers.begin(), answer.transfers.end()}};
}

inline Found read(PageTable& table, std::uint64_t address) { return ask(table, address, 128); }

/// All transfers arrive, in order.
inline void arrive(PageTable& table, const Found& found) {
  for (const Span transfer : found.transfers) table.arrived(found.slot, found.epoch, transfer);
}

/// A read, and the arrival of all that it migrates.
inline Found fetch(PageTable& table, std::uint64_t address) {
  Found found = read(table, address);
  arrive(table, found);
  return found;
}

inline std::uint64_t moved_bytes(const Found& found) {
  std::uint64_t sum = 0;
  for (const Span transfer : found.transfers) sum += transfer.length_bytes;
  return sum;
}

inline MigrationPolicy policy_of(PolicyKind kind, std::uint32_t page_bytes,
                                 std::uint32_t unit_bytes) {
  MigrationPolicy policy = default_policy(kind);
  policy.page_bytes = page_bytes;
  policy.unit_bytes = unit_bytes;
  return policy;
}

}  // namespace isthmus::pages
