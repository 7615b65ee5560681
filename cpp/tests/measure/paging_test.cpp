// The programs of Zhang 2019 run on a device by every way, and compute what they do on the host.
#include "measure/paging/paging.hpp"

#include <gtest/gtest.h>

#include <string>

#include <isthmus/errors.hpp>

#include "../device/test_driver.hpp"
#include "../faults/emulator_controls.hpp"
#include "measure/loops/sampling.hpp"
#include "workloads/registry.hpp"

namespace isthmus::measure {
namespace {

constexpr Stopping kOnce{.min_samples = 1, .max_samples = 1, .max_seconds = 0.1};

/// Small inputs: the emulated driver runs one thread after the other.
struct Small {
  const char* workload;
  workloads::GivenSizes sizes;
};

std::ostream& operator<<(std::ostream& out, const Small& small) { return out << small.workload; }

PagingWorkload on_device(const Small& small) {
  return {test::context(), test::kernels(),
          std::make_unique<workloads::HostRun>(
              workloads::make_program(small.workload, 3, small.sizes))};
}

struct NamedWay {
  const char* name;
  PagingWay way;
  PagedOptions paged;
};

const NamedWay kWays[] = {
    {"ideal", PagingWay::ideal, {}},
    {"copies", PagingWay::copies, {}},
    {"programmer", PagingWay::programmer, {}},
    {"paged", PagingWay::paged, {}},
    {"paged, outputs promised", PagingWay::promised, {}},
    {"prefetched beside kernels", PagingWay::prefetched, {}},
    {"prefetched before kernels", PagingWay::prefetched_first, {}},
    {"prefetched, with a budget", PagingWay::prefetched, {1024, 8192}},
    {"outputs promised, with a budget", PagingWay::promised, {1024, 8192}},
    {"paged by 64 KiB", PagingWay::paged, {65536, {}}},
    {"whole pages", PagingWay::paged, {std::size_t{2} << 20U, {}}},
    {"paged, with a budget", PagingWay::paged, {1024, 8192}},
    {"read through", PagingWay::paged, {1024, 0}},
    {"managed", PagingWay::managed, {}},
    {"managed, with hints", PagingWay::managed_hints, {}},
    {"managed, by batches", PagingWay::managed_batches, {}},
    {"zero-copy", PagingWay::zero_copy, {}},
};

class Paging : public testing::TestWithParam<Small> {};

TEST_P(Paging, ComputesTheHostsResultsByEveryWay) {
  PagingWorkload workload = on_device(GetParam());
  for (const NamedWay& one : kWays) {
    SCOPED_TRACE(one.name);
    if (one.way == PagingWay::copies && workload.uploaded_bytes() == 0) continue;
    Measurement found;
    ASSERT_NO_THROW(found = workload.measure({one.way, one.paged, kOnce}));
    ASSERT_EQ(found.samples.size(), 1U);
    EXPECT_EQ(found.samples[0].metric, "run");
    EXPECT_GT(found.samples[0].seconds[0], 0.0);
    EXPECT_EQ(found.verified_on, VerifiedOn::host);
  }
}

const Small kSmall[] = {
    {"bfs", {{"nodes", 1024}, {"edges", 4}}},
    {"mum-1400k", {{"letters", 1000}, {"reads", 300}}},
    {"nn", {{"digits", 1}}},
    {"cp", {{"size", 32}, {"atoms", 5}}},
    {"lps", {{"size", 12}}},
    {"lib", {{"paths", 64}}},
    {"wp", {{"columns", 8}, {"rows", 8}}},
    {"aes", {{"bytes", 4096}}},
    {"ray", {{"size", 16}, {"spheres", 3}}},
    {"sto", {{"windows", 256}}},
};

INSTANTIATE_TEST_SUITE_P(Workloads, Paging, testing::ValuesIn(kSmall));

TEST(PagingOf, AWorkloadThatUploadsNothingHasNoCopies) {
  PagingWorkload workload = on_device({"ray", {{"size", 16}, {"spheres", 1}}});
  EXPECT_THROW(workload.measure({PagingWay::copies, {}, kOnce}), Unavailable);
}

TEST(PagingOf, KernelsThatNeverRanAreCorrupt) {
  if (!test::driver().emulated()) GTEST_SKIP() << "only an emulated driver can be told to";
  PagingWorkload workload = on_device({"aes", {{"bytes", 4096}}});
  const test::EmulatorControls controls(test::driver());
  controls.swallow_calls("cuLaunchKernel");
  try {
    workload.measure({PagingWay::programmer, {}, kOnce});
    ADD_FAILURE() << "wrong results were accepted";
  } catch (const CorruptTransfer& error) {
    EXPECT_NE(std::string(error.what()).find("aes"), std::string::npos) << error.what();
  }
  controls.reset();
}

}  // namespace
}  // namespace isthmus::measure
