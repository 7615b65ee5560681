// Policies by name, with the defaults of each kind.
#pragma once

#include <array>

#include "pages/policy.hpp"

#include "pages/page.hpp"

namespace isthmus::pages {

constexpr auto words_of(PolicyKind) {
  return std::array{"whole_page", "single_range",   "ranges",    "bitmap",   "block_64k",  "tree",
                    "sequential", "access_counter", "zero_copy", "adaptive", "tree_units", "own"};
}
constexpr auto words_of(State) { return std::array{"cpu", "partial", "gpu"}; }
constexpr auto words_of(Outcome) { return std::array{"hit", "wait", "migrate", "remote"}; }

constexpr auto words_of(Overflow) { return std::array{"fill_gap", "whole_page", "refuse"}; }
constexpr auto words_of(SingleGap) { return std::array{"planned", "valid"}; }
constexpr auto words_of(RequestedLength) { return std::array{"line", "unit"}; }
constexpr auto words_of(WriteMiss) { return std::array{"migrate", "validate"}; }

/// The defaults of a kind: those of MigrationPolicy, except for the sizes that define the kind
/// (block_64k: units of 64 KiB; tree: of 4 KiB; ranges: requests of whole units).
MigrationPolicy default_policy(PolicyKind kind);

/// Throws      UsageError for an impossible policy: a unit larger than the page, sizes that aren't
///             powers of two, no range at all, a threshold over 100 %.
void check(const MigrationPolicy& policy);

}  // namespace isthmus::pages
