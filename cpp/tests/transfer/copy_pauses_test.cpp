// When a copy comes after a pause.
#include "transfer/copy/copy_pauses.hpp"

#include <gtest/gtest.h>

namespace isthmus::transfer {
namespace {

/// A clock that the tests advance.
std::int64_t now_ns = 0;
std::int64_t test_clock() { return now_ns; }

TEST(CopyPauses, TheFirstCopyComesAfterAPause) {
  now_ns = 0;
  const CopyPauses pauses(std::chrono::microseconds{50}, test_clock);
  EXPECT_TRUE(pauses.is_after_pause(pauses.now_ns()));
}

TEST(CopyPauses, OnlyALongerTimeSinceTheLastEndIsAPause) {
  CopyPauses pauses(std::chrono::microseconds{50}, test_clock);
  now_ns = 1'000'000;
  pauses.note_end(pauses.now_ns());
  now_ns += 50'000;
  EXPECT_FALSE(pauses.is_after_pause(pauses.now_ns()));
  ++now_ns;
  EXPECT_TRUE(pauses.is_after_pause(pauses.now_ns()));
  pauses.note_end(pauses.now_ns());
  EXPECT_FALSE(pauses.is_after_pause(pauses.now_ns()));
}

TEST(CopyPauses, ACopyThatBeganBeforeAnotherThreadsEndedIsNotAfterAPause) {
  CopyPauses pauses(std::chrono::microseconds{50}, test_clock);
  pauses.note_end(9'000'000);
  EXPECT_FALSE(pauses.is_after_pause(1'000'000));
}

TEST(CopyPauses, TwoCallsFarApartByTheTicksMayHaveAPauseBetween) {
  const CopyPauses pauses(std::chrono::microseconds{50}, test_clock);
  const auto ticks_of = [](double us) {
    return static_cast<std::uint64_t>(us * 1e3 * host::ticks_per_ns());
  };
  EXPECT_FALSE(pauses.may_be_after_pause(1000, 1000 + ticks_of(49)));
  EXPECT_TRUE(pauses.may_be_after_pause(1000, 1000 + ticks_of(51)));
  EXPECT_TRUE(pauses.may_be_after_pause(1000, 999)) << "another core's counter may be behind";
}

}  // namespace
}  // namespace isthmus::transfer
