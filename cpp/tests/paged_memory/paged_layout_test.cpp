// How large a paged array may be.
#include "paged/paged_layout.hpp"

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

namespace isthmus {
namespace {

constexpr std::size_t kTiB = std::size_t{1} << 40U;

/// Nothing touches its memory.
PagedSource source_of(std::size_t size_bytes) {
  PagedSource source;
  source.memory = reinterpret_cast<void*>(4096);
  source.size_bytes = size_bytes;
  return source;
}

TEST(PagedLayout, CountsLargeUnitsAsPiecesOf4KiBWithoutABudget) {
  PagedOptions options;
  options.unit_bytes = 65536;
  EXPECT_NO_THROW(checked(source_of(15 * kTiB), options));
  EXPECT_THROW(checked(source_of(16 * kTiB), options), UsageError);
  options.budget_bytes = kTiB;
  EXPECT_NO_THROW(checked(source_of(16 * kTiB), options));
}

}  // namespace
}  // namespace isthmus
