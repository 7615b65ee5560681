#include "workloads/registry.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <isthmus/errors.hpp>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::Digest;

Digest digest_of(std::string_view name, std::uint64_t seed) {
  const std::unique_ptr<trace::Source> source = make_workload(name, seed);
  return Digest(dynamic_cast<Recorder&>(*source));
}

TEST(Registry, EveryWorkloadIsNamedOnceAndSaysWhatItIs) {
  std::set<std::string_view> names;
  for (const NamedWorkload& row : workloads()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    const std::unique_ptr<trace::Source> source = make_workload(row.name, 1);
    EXPECT_EQ(source->program().name, row.name);
    EXPECT_NE(source->program().description.find(row.description), std::string::npos);
    EXPECT_NE(source->program().description.find(row.synthetic), std::string::npos);
    EXPECT_EQ(source->program().synthetic, !row.synthetic.empty());
    EXPECT_NO_THROW(trace::check_program(source->program()));
  }
}

TEST(Registry, AnUnknownNameIsRefusedWithThoseThatThereAre) {
  try {
    make_workload("bsf", 1);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("\"bsf\""), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("bfs, mum-140k"), std::string::npos);
  }
}

TEST(Registry, EqualSeedsGiveEqualTracesInBoundedBlocksAlsoAfterRewind) {
  for (const NamedWorkload& row : workloads()) {
    const std::unique_ptr<trace::Source> begun = make_workload(row.name, 7);
    begun->next();
    const Digest again(dynamic_cast<Recorder&>(*begun));  // rewinds
    EXPECT_TRUE(again == digest_of(row.name, 7)) << row.name;
    EXPECT_LT(again.max_block_lines(), 2 * trace::BlockBuilder::kFullBlock) << row.name;
  }
}

TEST(Registry, SeedsChangeTheTracesOfWorkloadsThatFollowTheirData) {
  for (const std::string_view name : {"bfs", "mum-140k"})
    EXPECT_FALSE(digest_of(name, 1) == digest_of(name, 2)) << name;
}

TEST(Registry, AWorkloadRunsInSeveralThreadsAtOnce) {
  const Digest expected = digest_of("bfs", 1);
  std::vector<std::optional<Digest>> found(4);
  std::vector<std::thread> threads;
  for (std::optional<Digest>& each : found)
    threads.emplace_back([&each] { each = digest_of("bfs", 1); });
  for (std::thread& thread : threads) thread.join();
  for (const std::optional<Digest>& each : found) EXPECT_TRUE(each == expected);
}

}  // namespace
}  // namespace isthmus::workloads
