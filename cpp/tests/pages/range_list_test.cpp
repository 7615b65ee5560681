#include "pages/range_list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "table_steps.hpp"

namespace isthmus::pages {
namespace {

/// Ranges of a page of 4096 bytes.
class Ranges {
public:
  explicit Ranges(std::uint32_t most, std::uint32_t gap_bytes = 0,
                  Overflow overflow = Overflow::fill_gap)
      : list_(spans_.data(), &num_spans_, {4096, gap_bytes, most, overflow}) {}

  Growth add(std::uint32_t first, std::uint32_t end) { return list_.add(span_between(first, end)); }
  std::vector<Span> all() const { return {spans_.begin(), spans_.begin() + num_spans_}; }

private:
  std::array<Span, 17> spans_{};
  std::uint16_t num_spans_ = 0;
  RangeList list_;
};

TEST(SingleRange, TakesTheGapOnEitherSide) {
  Span stored{1000, 24};
  SingleRange range(&stored);
  EXPECT_EQ(range.grown({2000, 48}), span_between(1000, 2048));
  EXPECT_EQ(range.add({512, 8}), span_between(512, 1024));
  EXPECT_TRUE(range.joins({1024, 128}));
  EXPECT_FALSE(range.joins({1025, 128}));
}

TEST(RangeList, KeepsRangesInOrder) {
  Ranges ranges(4);
  ranges.add(2048, 2176);
  ranges.add(0, 128);
  ranges.add(1024, 1152);
  EXPECT_EQ(ranges.all(), (std::vector<Span>{{0, 128}, {1024, 128}, {2048, 128}}));
}

TEST(RangeList, JoinsRangesThatTouch) {
  Ranges ranges(4);
  ranges.add(0, 128);
  ranges.add(256, 384);
  EXPECT_EQ(ranges.add(128, 256).grown, span_between(0, 384));
  EXPECT_EQ(ranges.all(), (std::vector<Span>{{0, 384}}));
}

TEST(RangeList, FillsAGapUnderTheThresholdAndNoneOfIt) {
  Ranges ranges(4, 256);
  ranges.add(0, 128);
  EXPECT_EQ(ranges.add(128 + 255, 512).grown, span_between(0, 512));
  ranges.add(512 + 256, 1024);
  EXPECT_EQ(ranges.all(), (std::vector<Span>{{0, 512}, {768, 256}}));
}

TEST(RangeList, TakesAllRangesThatARequestCovers) {
  Ranges ranges(8);
  for (std::uint32_t at = 0; at < 2048; at += 512) ranges.add(at, at + 128);
  EXPECT_EQ(ranges.add(500, 1600).grown, span_between(500, 1664));
  EXPECT_EQ(ranges.all(), (std::vector<Span>{{0, 128}, {500, 1164}}));
}

TEST(RangeList, GrowsByNothingForWhatItHas) {
  Ranges ranges(2);
  ranges.add(0, 1024);
  EXPECT_EQ(ranges.add(128, 256).grown, span_between(0, 1024));
  EXPECT_EQ(ranges.all().size(), 1U);
}

TEST(RangeList, FillsTheSmallestGapWhenThereAreTooMany) {
  Ranges ranges(2);
  ranges.add(0, 128);
  ranges.add(1024, 1152);
  const Growth growth = ranges.add(1280, 1408);
  // It adjoins what has grown, and migrates with it.
  EXPECT_EQ(growth.grown, span_between(1152, 1408));
  EXPECT_EQ(growth.filled.length_bytes, 0U);
  EXPECT_EQ(ranges.all(), (std::vector<Span>{{0, 128}, {1024, 384}}));
}

TEST(RangeList, FillsAGapElsewhereByItself) {
  Ranges ranges(2);
  ranges.add(0, 128);
  ranges.add(256, 384);
  const Growth growth = ranges.add(4096, 4224);
  EXPECT_EQ(growth.grown, span_between(4096, 4224));
  EXPECT_EQ(growth.filled, span_between(128, 256));
}

TEST(RangeList, FillsTheFirstOfEqualGaps) {
  Ranges ranges(2);
  ranges.add(0, 128);
  ranges.add(256, 384);
  EXPECT_EQ(ranges.add(512, 640).filled, span_between(128, 256));
}

TEST(RangeList, TakesTheWholePageIfThatIsTheRule) {
  Ranges ranges(1, 0, Overflow::whole_page);
  ranges.add(0, 128);
  EXPECT_EQ(ranges.add(1024, 1152).grown, span_between(0, 4096));
  EXPECT_EQ(ranges.all(), (std::vector<Span>{{0, 4096}}));
}

TEST(RangeList, IsAsItWasAfterARefusal) {
  Ranges ranges(1, 0, Overflow::refuse);
  ranges.add(0, 128);
  EXPECT_TRUE(ranges.add(1024, 1152).refused);
  EXPECT_EQ(ranges.all(), (std::vector<Span>{{0, 128}}));
  EXPECT_FALSE(ranges.add(128, 256).refused) << "it needs no further range";
}

}  // namespace
}  // namespace isthmus::pages
