// When a copy comes after a pause.
#include "transfer/carriers/carriers.hpp"

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

}  // namespace
}  // namespace isthmus::transfer
