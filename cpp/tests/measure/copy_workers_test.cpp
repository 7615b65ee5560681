#include "measure/bandwidth/host_memcpy.hpp"

#include <atomic>

#include <gtest/gtest.h>

#include <isthmus/errors.hpp>

#include "host/cpu/cpu_list.hpp"

namespace isthmus::measure {
namespace {

/// Where each worker may run.
std::vector<std::vector<int>> cpus_of(CopyWorkers& workers) {
  std::vector<std::vector<int>> each(workers.num_threads());
  workers.run([&](std::size_t index) { each[index] = host::allowed_cpus(); });
  return each;
}

TEST(CopyWorkers, RunsWhereverTheCallerMay) {
  const std::vector<int> before = host::allowed_cpus();
  CopyWorkers workers(3, std::nullopt);
  for (const std::vector<int>& cpus : cpus_of(workers)) EXPECT_EQ(cpus, before);
}

TEST(CopyWorkers, RunsEachPartOnceARound) {
  CopyWorkers workers(3, std::nullopt);
  std::vector<std::atomic<int>> counts(3);
  for (int round = 0; round < 100; ++round) {
    const double seconds = workers.run([&](std::size_t index) { ++counts[index]; });
    EXPECT_GT(seconds, 0);
  }
  for (const std::atomic<int>& count : counts) EXPECT_EQ(count, 100);
}

TEST(CopyWorkers, NeedsANodeThatIsThereAndAThread) {
  EXPECT_THROW(CopyWorkers(2, 4242), UsageError);
  EXPECT_THROW(CopyWorkers(0, std::nullopt), UsageError);
}

}  // namespace
}  // namespace isthmus::measure
