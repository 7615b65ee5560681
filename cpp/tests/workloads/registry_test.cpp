#include "workloads/registry.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include <isthmus/errors.hpp>

#include "recording.hpp"

namespace isthmus::workloads {
namespace {

using testing::record;
using testing::Recording;

Recording record_named(std::string_view name, std::uint64_t seed) {
  const std::unique_ptr<trace::Source> source = make_workload(name, seed);
  return record(dynamic_cast<Recorder&>(*source));
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
    const Recording again = record(dynamic_cast<Recorder&>(*begun));  // rewinds
    EXPECT_EQ(again.hash, record_named(row.name, 7).hash) << row.name;
    EXPECT_LT(again.max_block_lines, 2 * trace::BlockBuilder::kFullBlock) << row.name;
  }
}

TEST(Registry, SeedsChangeTheTracesOfWorkloadsThatFollowTheirData) {
  for (const std::string_view name : {"bfs", "mum-140k"})
    EXPECT_NE(record_named(name, 1).hash, record_named(name, 2).hash) << name;
}

TEST(Registry, AWorkloadRunsInSeveralThreadsAtOnce) {
  const std::uint64_t expected = record_named("bfs", 1).hash;
  std::vector<std::uint64_t> hashes(4);
  std::vector<std::thread> threads;
  for (std::uint64_t& hash : hashes)
    threads.emplace_back([&hash] { hash = record_named("bfs", 1).hash; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hashes, std::vector<std::uint64_t>(4, expected));
}

}  // namespace
}  // namespace isthmus::workloads
