#include "measure/bandwidth/copy_crew.hpp"

#include <atomic>

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "host/affinity.hpp"

namespace isthmus::measure {
namespace {

/// Where each of a crew may run.
std::vector<std::vector<int>> cpus_of(CopyCrew& crew) {
  std::vector<std::vector<int>> each(crew.num_threads());
  crew.run([&](std::size_t index) { each[index] = host::allowed_cpus(); });
  return each;
}

TEST(ACopyCrew, RunsWhereverTheCallerMay) {
  const std::vector<int> before = host::allowed_cpus();
  CopyCrew crew(3, std::nullopt);
  for (const std::vector<int>& cpus : cpus_of(crew)) EXPECT_EQ(cpus, before);
}

TEST(ACopyCrew, RunsEachPartOnceARound) {
  CopyCrew crew(3, std::nullopt);
  std::vector<std::atomic<int>> counts(3);
  for (int round = 0; round < 100; ++round) {
    const double seconds = crew.run([&](std::size_t index) { ++counts[index]; });
    EXPECT_GT(seconds, 0);
  }
  for (const std::atomic<int>& count : counts) EXPECT_EQ(count, 100);
}

TEST(ACopyCrew, NeedsANodeThatIsThereAndAThread) {
  EXPECT_THROW(CopyCrew(2, 4242), UsageError);
  EXPECT_THROW(CopyCrew(0, std::nullopt), UsageError);
}

}  // namespace
}  // namespace isthmus::measure
