#include "pages/policy_names.hpp"

#include <isthmus/errors.hpp>

#include <bit>
#include <string>

#include "pages/access_counter.hpp"

namespace isthmus::pages {

namespace {

/// The largest size that offsets in a page allow; more than any GPU uses.
constexpr std::uint32_t kMaxPageBytes = 1U << 30U;
/// Each range takes one word in every partial page.
constexpr std::uint32_t kMaxRanges = 4096;

void need(bool holds, const std::string& message) {
  if (!holds) throw UsageError(message);
}

void check_power(std::uint32_t bytes, const char* name) {
  need(std::has_single_bit(bytes), std::string(name) + " is " + std::to_string(bytes) +
                                       ": a power of two is needed, such as 1024");
}

void check_at_most(std::uint32_t bytes, const char* name, std::uint32_t most, const char* of) {
  need(bytes <= most, std::string(name) + " is " + std::to_string(bytes) + ", more than " + of +
                          " (" + std::to_string(most) + "): it must be at most that");
}

void check_sizes(const MigrationPolicy& policy) {
  check_power(policy.page_bytes, "page_bytes");
  check_power(policy.line_bytes, "line_bytes");
  check_at_most(policy.page_bytes, "page_bytes", kMaxPageBytes, "the largest page");
  check_at_most(policy.line_bytes, "line_bytes", policy.page_bytes, "page_bytes");
  if (policy.kind == PolicyKind::whole_page || policy.kind == PolicyKind::zero_copy) return;
  check_power(policy.unit_bytes, "unit_bytes");
  check_at_most(policy.unit_bytes, "unit_bytes", policy.page_bytes, "page_bytes");
  check_at_most(policy.line_bytes, "line_bytes", policy.unit_bytes, "unit_bytes");
}

void check_counter(const MigrationPolicy& policy) {
  check_power(policy.counter_bytes, "counter_bytes");
  need(policy.counter_threshold > 0, "counter_threshold is 0: at least 1 is needed");
  need(policy.counter_bytes >= policy.unit_bytes, "counter_bytes is less than unit_bytes (" +
                                                      std::to_string(policy.unit_bytes) +
                                                      "): one counter counts for whole units");
  need(
      policy.counter_bytes / policy.unit_bytes <= kUnitsPerCounter,
      "counter_bytes is more than 32 units: a counter can't tell them apart; raise unit_bytes to " +
          std::to_string(policy.counter_bytes / kUnitsPerCounter));
}

void check_tree(const MigrationPolicy& policy) {
  check_power(policy.grow_bytes, "grow_bytes");
  need(policy.tree_threshold_percent >= 1 && policy.tree_threshold_percent <= 100,
       "tree_threshold_percent is " + std::to_string(policy.tree_threshold_percent) +
           ": 1 to 100 are possible (100: no subtree ever moves)");
}

void check_ranges(const MigrationPolicy& policy) {
  need(policy.max_ranges >= 1 && policy.max_ranges <= kMaxRanges,
       "max_ranges is " + std::to_string(policy.max_ranges) + ": 1 to " +
           std::to_string(kMaxRanges) + " are possible; the bitmap policy has no limit");
}

}  // namespace

MigrationPolicy default_policy(PolicyKind kind) {
  MigrationPolicy policy;
  policy.kind = kind;
  // Zhang 2019's experiments with several ranges fix the migration unit.
  if (kind == PolicyKind::ranges) policy.request = RequestedLength::unit;
  // The driver's big pages; it also reports accesses by big page.
  if (kind == PolicyKind::block_64k || kind == PolicyKind::access_counter)
    policy.unit_bytes = 64U << 10U;
  if (kind == PolicyKind::tree || kind == PolicyKind::sequential) policy.unit_bytes = 4U << 10U;
  return policy;
}

void check(const MigrationPolicy& policy) {
  check_sizes(policy);
  switch (policy.kind) {
    case PolicyKind::ranges:
      return check_ranges(policy);
    case PolicyKind::tree:
    case PolicyKind::tree_units:
      return check_tree(policy);
    case PolicyKind::access_counter:
      return check_counter(policy);
    case PolicyKind::adaptive:
      return check_power(policy.max_unit_bytes, "max_unit_bytes");
    default:
      return;
  }
}

}  // namespace isthmus::pages
