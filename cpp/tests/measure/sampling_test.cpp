#include <gtest/gtest.h>

#include <limits>

#include <isthmus/errors.hpp>

#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

TEST(Sampling, StopsOnLowNoiseOnceTheMinimumIsTaken) {
  const Samples samples =
      sample({.min_samples = 8, .max_samples = 100, .max_seconds = 60}, "x", 3, [] { return 1.0; });
  EXPECT_EQ(samples.seconds.size(), 8U);
  EXPECT_EQ(samples.stopped_by, StoppedBy::noise);
  EXPECT_EQ(samples.metric, "x");
  EXPECT_EQ(samples.copies_per_sample, 3U);
}

TEST(Sampling, GoesOnToTheMaximumWhileTheNoiseIsHigh) {
  double value = 1;
  const Samples samples = sample({.min_samples = 5, .max_samples = 40, .max_seconds = 60}, "x", 1,
                                 [&] { return value *= -2; });
  EXPECT_EQ(samples.seconds.size(), 40U);
  EXPECT_EQ(samples.stopped_by, StoppedBy::max_samples);
}

TEST(Sampling, TakesTheMinimumEvenWithoutAnyTime) {
  double value = 0;
  const Samples samples = sample({.min_samples = 5, .max_samples = 1000, .max_seconds = 0}, "x", 1,
                                 [&] { return value += 1; });
  EXPECT_EQ(samples.seconds.size(), 5U);
  EXPECT_EQ(samples.stopped_by, StoppedBy::time);
}

TEST(Sampling, KeepsRawSamplesInTheOrderTaken) {
  double value = 0;
  const Samples samples =
      sample({.min_samples = 3, .max_samples = 3}, "x", 1, [&] { return value += 1; });
  EXPECT_EQ(samples.seconds, (std::vector<double>{1, 2, 3}));
}

TEST(Sampling, CountsOutliersAndStillSeesThatTheRestIsQuiet) {
  int taken = 0;
  const Samples samples = sample({.min_samples = 20, .max_samples = 1000, .max_seconds = 60}, "x",
                                 1, [&] { return ++taken % 10 == 0 ? 50.0 : 1.0; });
  EXPECT_EQ(samples.seconds.size(), 20U);
  EXPECT_EQ(samples.stopped_by, StoppedBy::noise);
}

TEST(Sampling, RefusesARuleThatCannotBeMet) {
  EXPECT_THROW(Sampling({.min_samples = 0}), UsageError);
  EXPECT_THROW(Sampling({.min_samples = 5, .max_samples = 4}), UsageError);
  EXPECT_THROW(Sampling({.max_seconds = -1}), UsageError);
  EXPECT_THROW(Sampling({.max_seconds = std::numeric_limits<double>::quiet_NaN()}), UsageError);
  EXPECT_THROW(Sampling({.relative_iqr = -0.1}), UsageError);
}

}  // namespace
}  // namespace isthmus::measure
