#include "workloads/host_run.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include <isthmus/errors.hpp>

#include "workloads/registry.hpp"

namespace isthmus::workloads {
namespace {

HostRun run_of(const char* name, const GivenSizes& sizes) {
  return HostRun(make_program(name, 3, sizes));
}

/// The memory as the workload leaves it.
std::vector<std::byte> memory_after(const char* name, const GivenSizes& sizes) {
  std::unique_ptr<Workload> workload = make_program(name, 3, sizes);
  Workload& program = *workload;
  Recorder recorder(std::move(workload));
  while (recorder.next()) {
  }
  std::vector<std::byte> memory(program.heap().size_bytes());
  for (const trace::Allocation& one : program.program().allocations)
    program.heap().read(
        one.address, std::span(memory).subspan(one.address - Heap::kFirstAddress, one.size_bytes));
  return memory;
}

const GivenSizes kAes{{"bytes", 4096}};
const GivenSizes kLps{{"size", 12}};

TEST(HostRun, KeepsTheMemoryAsItWasAndWhatChangesInIt) {
  const HostRun run = run_of("aes", kAes);
  const std::vector<std::byte> after = memory_after("aes", kAes);
  ASSERT_EQ(run.memory().size(), after.size());
  ASSERT_EQ(run.changed().size(), 1U);  // cipher
  EXPECT_EQ(run.changed()[0].first, 4096U);
  EXPECT_EQ(run.changed()[0].size_bytes, 4096U);
  EXPECT_EQ(std::memcmp(run.memory().data(), after.data(), 4096), 0);
  EXPECT_NE(std::memcmp(&run.memory()[4096], &after[4096], 4096), 0);
}

TEST(HostRun, KnowsUploadsAndResults) {
  const HostRun run = run_of("aes", kAes);
  ASSERT_EQ(run.uploaded().size(), 2U);  // plain, keys
  EXPECT_EQ(run.uploaded()[1].size_bytes, 176U);
  ASSERT_EQ(run.results().size(), 1U);
  ASSERT_EQ(run.launches().size(), 1U);
  EXPECT_EQ(run.launches()[0].call.kernel, "aes_blocks");
  EXPECT_EQ(run.launches()[0].call.constants.size(), 2U);
}

TEST(HostRun, KnowsWhatTheHostWritesBetweenLaunches) {
  const HostRun run = run_of("bfs", {{"nodes", 256}, {"edges", 4}});
  ASSERT_GT(run.launches().size(), 1U);
  const std::vector<std::vector<std::byte>>& written = run.launches()[1].written;
  ASSERT_EQ(written.size(), 2U);
  EXPECT_TRUE(written[0].empty());  // it reads the flag
  EXPECT_EQ(written[1], std::vector<std::byte>{std::byte{0}});
}

TEST(HostRun, KnowsWhatKernelsAloneFill) {
  const auto bytes = [](const std::vector<Part>& parts) {
    std::uint64_t sum = 0;
    for (const Part& part : parts) sum += part.size_bytes;
    return sum;
  };
  const HostRun aes = run_of("aes", kAes);
  ASSERT_EQ(aes.filled().size(), 1U);
  EXPECT_EQ(aes.filled()[0].first, 4096U);  // cipher
  EXPECT_EQ(bytes(run_of("lps", kLps).filled()), 12U * 12 * 12 * sizeof(float));
  const HostRun cp = run_of("cp", {{"size", 32}, {"atoms", 5}});  // adds to what is there
  EXPECT_EQ(bytes(cp.made()), 32U * 32 * sizeof(float));
  EXPECT_TRUE(cp.filled().empty());
  EXPECT_TRUE(run_of("bfs", {{"nodes", 256}, {"edges", 4}}).filled().empty());
}

TEST(HostRun, AcceptsItsOwnResultsAndNoOtherIntegers) {
  const HostRun run = run_of("aes", kAes);
  std::vector<std::byte> after = memory_after("aes", kAes);
  EXPECT_EQ(run.difference(after), "");
  after[5000] ^= std::byte{1};
  EXPECT_NE(run.difference(after).find("1 of 4096"), std::string::npos) << run.difference(after);
}

TEST(HostRun, AcceptsRoundingOfFloatsButNoLostBytes) {
  const HostRun run = run_of("lps", kLps);
  const std::uint64_t first = run.results()[0].first;
  std::vector<std::byte> after = memory_after("lps", kLps);
  float value = 0;
  std::memcpy(&value, &after[first], sizeof value);
  value *= 1.0001F;
  std::memcpy(&after[first], &value, sizeof value);
  EXPECT_EQ(run.difference(after), "");
  std::memset(&after[first + 1024], 0xA5, 256);
  EXPECT_NE(run.difference(after).find("64 in a row"), std::string::npos) << run.difference(after);
}

TEST(HostRun, OfAWorkloadWithoutKernelsForGpusIsRefused) {
  EXPECT_THROW(run_of("spmv", {{"rows", 1024}}), UsageError);
}

TEST(HostRun, ReadsNothingBeyondAnArray) {
  std::unique_ptr<Workload> workload = make_program("aes", 3, kAes);
  std::vector<std::byte> target(4097);
  EXPECT_THROW(workload->heap().read(Heap::kFirstAddress, target), UsageError);
}

}  // namespace
}  // namespace isthmus::workloads
