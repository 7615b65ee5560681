// What comes along with a request, by the bits of what was requested alone: as by the PageMachine.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include <isthmus/pages/extension.hpp>

#include "pages/geometry.hpp"
#include "pages/page_machine.hpp"
#include "pages/policy_names.hpp"

namespace isthmus::pages {
namespace {

constexpr std::uint32_t kPageBytes = 256U << 10U, kUnitBytes = 1024;
constexpr std::uint32_t kNumUnits = kPageBytes / kUnitBytes, kWords = kNumUnits / kWordBits;

MigrationPolicy small(PolicyKind kind) {
  MigrationPolicy policy = default_policy(kind);
  policy.page_bytes = kPageBytes;
  policy.unit_bytes = policy.line_bytes = kUnitBytes;
  policy.request = RequestedLength::unit;
  return policy;
}

/// Requests units at random, half of them near the last one, and compares after each.
void expect_as_by_the_machine(const MigrationPolicy& policy) {
  const Geometry geometry = geometry_of(policy);
  for (unsigned seed = 0; seed < 50; seed++) {
    Page page;
    std::vector<std::uint64_t> words(geometry.num_words), bits(kWords);
    PageMachine machine(geometry, page, words.data());
    UnitBitmap units(bits.data());
    const Extension extension(policy, units, geometry.granule_shift);
    std::uint32_t doublings = 0;
    std::mt19937 random(seed);
    std::uint32_t unit = 0;
    for (unsigned i = 0; i < 40; i++) {
      unit = random() % 2 == 0 ? std::uint32_t(random() % kNumUnits)
                               : (unit + std::uint32_t(random() % 4)) % kNumUnits;
      const Span lines{unit * kUnitBytes, kUnitBytes};
      if (units.test(unit)) continue;  // who finds a unit requested asks for nothing
      machine.miss(lines, false, [](Span) {});
      std::array<Span, kMostRanges + 1> spans;
      const std::uint32_t num_spans = extension.of(lines, doublings, spans.data());
      for (std::uint32_t j = 0; j < num_spans; j++)
        units.set(spans[j].offset_bytes / kUnitBytes, spans[j].end_bytes() / kUnitBytes);
      for (std::uint32_t j = 0; j < kWords; j++) ASSERT_EQ(bits[j], words[j]) << "request " << i;
    }
  }
}

TEST(Extension, OfAKindWithoutOptionsIsThatOfTheMachine) {
  for (const PolicyKind kind :
       {PolicyKind::single_range, PolicyKind::bitmap, PolicyKind::tree, PolicyKind::adaptive})
    expect_as_by_the_machine(small(kind));
}

TEST(Extension, OfRangesIsThatOfTheMachine) {
  for (const std::uint32_t gap_bytes : {0U, 1024U, 4096U, 65536U})
    for (const std::uint32_t max_ranges : {1U, 2U, 4U, 8U}) {
      MigrationPolicy policy = small(PolicyKind::ranges);
      policy.gap_bytes = gap_bytes;
      policy.max_ranges = max_ranges;
      expect_as_by_the_machine(policy);
    }
}

TEST(Extension, OfAWholePageIsThePage) {
  std::vector<std::uint64_t> bits(kWords);
  UnitBitmap units(bits.data());
  std::uint32_t doublings = 0;
  std::array<Span, kMostRanges + 1> spans;
  const MigrationPolicy policy = small(PolicyKind::whole_page);
  const Extension extension(policy, units, 10);
  EXPECT_EQ(extension.of({33 * kUnitBytes, kUnitBytes}, doublings, spans.data()), 1U);
  EXPECT_EQ(spans[0], (Span{0, kPageBytes}));
}

TEST(Extension, OfUnitsOfSeveralGranulesIsTheWholeUnit) {
  MigrationPolicy policy = small(PolicyKind::bitmap);
  policy.unit_bytes = 16 * kUnitBytes;
  EXPECT_TRUE(extends(policy, kUnitBytes));
  EXPECT_FALSE(extends(small(PolicyKind::bitmap), kUnitBytes));
  std::vector<std::uint64_t> bits(kWords);
  UnitBitmap units(bits.data());
  std::uint32_t doublings = 0;
  std::array<Span, kMostRanges + 1> spans;
  const Extension extension(policy, units, 10);
  EXPECT_EQ(extension.of({33 * kUnitBytes, kUnitBytes}, doublings, spans.data()), 1U);
  EXPECT_EQ(spans[0], (Span{32 * kUnitBytes, 16 * kUnitBytes}));
}

}  // namespace
}  // namespace isthmus::pages
