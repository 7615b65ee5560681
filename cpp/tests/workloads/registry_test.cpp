#include "workloads/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
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

/// What is known of a workload's trace with its usual sizes and seed 1.
struct UsualTrace {
  trace::Program program;
  Digest blocks;

  static UsualTrace of(std::string_view name) {
    const std::unique_ptr<trace::Source> source = make_workload(name, 1);
    const Digest blocks(dynamic_cast<Recorder&>(*source));
    return {source->program(), blocks};
  }
};

/// Runs each workload once for all tests: usual sizes take long.
const UsualTrace& usual_trace(std::string_view name) {
  static std::map<std::string_view, UsualTrace> traces;
  const auto found = traces.find(name);
  return found != traces.end() ? found->second
                               : traces.emplace(name, UsualTrace::of(name)).first->second;
}

TEST(Registry, EveryWorkloadIsNamedOnceAndSaysWhatItIs) {
  std::set<std::string_view> names;
  for (const NamedWorkload& row : workloads()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    const trace::Program& program = usual_trace(row.name).program;
    EXPECT_EQ(program.name, row.name);
    EXPECT_NE(program.description.find(row.description), std::string::npos);
    EXPECT_NE(program.description.find(row.synthetic), std::string::npos);
    EXPECT_EQ(program.synthetic, !row.synthetic.empty());
    EXPECT_NO_THROW(trace::check_program(program));
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

/// Of programs and their blocks with seed 1, the same as before sizes could be chosen.
constexpr std::pair<std::string_view, std::uint64_t> kUsualTraces[] = {
    {"bfs", 0x1AB21AE8C01ACD2A},       {"mum-140k", 0x5BDE6D83B28451A2},
    {"mum-1400k", 0x1E1653B043095349}, {"nn", 0xE661DFD77B706BAC},
    {"cp", 0xB5B9192C5219FBAA},        {"lps", 0x3C83801FBB6D60D3},
    {"lib", 0x0732C999889F26F9},       {"wp", 0x3FD59A0D5D4BB76A},
    {"aes", 0x0DEA1F7236C30677},       {"ray", 0xBCA2CFDAB48B42F4},
    {"sto", 0x1AC3749ED6E18F18},       {"nqu", 0xF30BED18D55DFE3D},
    {"spmv", 0xA96839CF8015F3EB},      {"pagerank", 0xA20BB46FE0535CF6},
    {"embedding", 0x777C913B262809A5}, {"kv-attention", 0x99320DC204AD6119},
    {"gemm", 0x95DB0094BBA3E334},      {"hash-join", 0x48393A58AB05F62F}};

TEST(Registry, TheUsualSizesGiveTheTracesThatWereBeforeThereWereOthers) {
  for (const auto& [name, expected] : kUsualTraces) {
    const UsualTrace& trace = usual_trace(name);
    EXPECT_EQ(trace.blocks.with(trace.program), expected) << name;
  }
}

TEST(Registry, TheUsualSizesGiveBoundedBlocks) {
  for (const NamedWorkload& row : workloads())
    EXPECT_LT(usual_trace(row.name).blocks.max_block_lines(), 2 * trace::BlockBuilder::kFullBlock)
        << row.name;
}

GivenSizes usual_sizes(const NamedWorkload& row) {
  GivenSizes all;
  for (const Size& size : row.sizes) all[std::string(size.name)] = size.usual;
  return all;
}

TEST(Registry, EverySizeSaysWhatItCanBeAndItsUsualValueIsAllowed) {
  for (const NamedWorkload& row : workloads()) {
    EXPECT_FALSE(row.sizes.empty()) << row.name;
    EXPECT_EQ(usual_sizes(row).size(), row.sizes.size()) << row.name;
    for (const Size& size : row.sizes) {
      EXPECT_FALSE(size.meaning.empty()) << row.name << ", " << size.name;
      for (const std::uint32_t value : {size.least, size.usual, size.most})
        EXPECT_TRUE(is_allowed(size, value)) << row.name << ", " << size.name << "=" << value;
    }
    EXPECT_NO_THROW(check_workload(row.name, usual_sizes(row))) << row.name;
  }
}

TEST(Registry, UsualSizesThatAreGivenChangeNothing) {
  const std::unique_ptr<trace::Source> given = make_workload("bfs", 1, {{"nodes", 65536}});
  EXPECT_EQ(Digest(dynamic_cast<Recorder&>(*given)).with(given->program()), kUsualTraces[0].second);
}

TEST(Registry, EverySizeCanBeItsLeast) {
  for (const NamedWorkload& row : workloads()) {
    GivenSizes least;
    for (const Size& size : row.sizes) least[std::string(size.name)] = size.least;
    const std::unique_ptr<trace::Source> source = make_workload(row.name, 1, least);
    EXPECT_NO_THROW(trace::check_program(source->program())) << row.name;
    const testing::Recording counted = testing::record(dynamic_cast<Recorder&>(*source));
    EXPECT_GT(counted.line_requests, 0U) << row.name;
  }
}

/// Of blocks, launches and host steps.
std::uint64_t whole_digest(trace::Source& source) {
  return Digest(dynamic_cast<Recorder&>(source)).with_launches(source.program());
}

/// An allowed size between the least and the usual, near a share of the usual one.
std::uint64_t smaller(const Size& size, std::uint32_t divisor) {
  const std::uint32_t part = std::max(size.usual / divisor, size.least);
  return size.power_of_two ? part : std::max(part / size.multiple * size.multiple, size.least);
}

GivenSizes smaller_sizes(const NamedWorkload& row, std::uint32_t divisor) {
  GivenSizes small;
  for (const Size& size : row.sizes) small[std::string(size.name)] = smaller(size, divisor);
  return small;
}

TEST(Registry, EverySizeAloneChangesTheTraceAndTheProgramSaysSo) {
  for (const NamedWorkload& row : workloads()) {
    // Of a quarter of moe's experts, none is used after it was evicted.
    const GivenSizes small = smaller_sizes(row, row.name == "moe" ? 2 : 4);
    const std::unique_ptr<trace::Source> before = make_workload(row.name, 1, small);
    const std::uint64_t digest = whole_digest(*before);
    for (const Size& size : row.sizes) {
      GivenSizes changed = small;
      const std::uint64_t other = smaller(size, 16);
      changed[std::string(size.name)] =
          other == small.at(std::string(size.name)) ? size.usual : other;
      // The usual one is the least.
      if (changed == small) changed[std::string(size.name)] = 2 * std::uint64_t{size.usual};
      const std::unique_ptr<trace::Source> after = make_workload(row.name, 1, changed);
      EXPECT_NE(whole_digest(*after), digest) << row.name << ", " << size.name;
      const bool is_usual = small.at(std::string(size.name)) == size.usual;
      const std::string& said = (is_usual ? after : before)->program().description;
      EXPECT_NE(said.find(std::string(size.name) + "="), std::string::npos) << said;
      EXPECT_EQ(before->program().thread_instructions, 0U) << row.name;
    }
  }
}

std::string refusal(std::string_view workload, const GivenSizes& sizes) {
  try {
    check_workload(workload, sizes);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Registry, ASizeThatIsNotAllowedIsRefusedWithTheRangeAndTheNearest) {
  EXPECT_EQ(refusal("bfs", {{"nodes", 100}}),
            "the size nodes of bfs can't be 100: it can be 256 to 16777216, multiples of 256; the "
            "nearest is 256");
  EXPECT_EQ(refusal("bfs", {{"nodes", 1000}}),
            "the size nodes of bfs can't be 1000: it can be 256 to 16777216, multiples of 256; the "
            "nearest is 1024");
  EXPECT_EQ(refusal("bfs", {{"nodes", ~std::uint64_t{0}}}),
            "the size nodes of bfs can't be 18446744073709551615: it can be 256 to 16777216, "
            "multiples of 256; the nearest is 16777216");
  EXPECT_EQ(refusal("spmv", {{"rows", 5000}}),
            "the size rows of spmv can't be 5000: it can be 1024 to 16777216, powers of two; the "
            "nearest is 4096");
  EXPECT_EQ(refusal("bfs", {{"rows", 256}}), "bfs has no size \"rows\"; it has: nodes, edges");
}

TEST(Registry, SizesThatTogetherNeedTooMuchMemoryAreRefused) {
  const GivenSizes most{{"sequences", 4096}, {"heads", 128}};
  EXPECT_NO_THROW(check_workload("kv-attention", most));
  EXPECT_THROW(make_workload("kv-attention", 1, most), UsageError);
}

TEST(Registry, EqualSeedsGiveEqualTracesAlsoAfterRewind) {
  for (const NamedWorkload& row : workloads()) {
    const GivenSizes small = smaller_sizes(row, row.name == "lps" ? 1 : 2);  // half: one block
    const std::unique_ptr<trace::Source> begun = make_workload(row.name, 7, small);
    begun->next();
    const Digest again(dynamic_cast<Recorder&>(*begun));  // rewinds
    const std::unique_ptr<trace::Source> fresh = make_workload(row.name, 7, small);
    EXPECT_TRUE(again == Digest(dynamic_cast<Recorder&>(*fresh))) << row.name;
    EXPECT_EQ(again.num_blocks() > 1, usual_trace(row.name).blocks.num_blocks() > 1)
        << row.name << " was rewound at its end";
  }
}

TEST(Registry, SeedsChangeTheTracesOfWorkloadsThatFollowTheirData) {
  for (const std::string_view name : {"bfs", "mum-140k"})
    EXPECT_FALSE(usual_trace(name).blocks == digest_of(name, 2)) << name;
}

TEST(Registry, AWorkloadRunsInSeveralThreadsAtOnce) {
  const Digest& expected = usual_trace("bfs").blocks;
  std::vector<std::optional<Digest>> found(4);
  std::vector<std::thread> threads;
  for (std::optional<Digest>& each : found)
    threads.emplace_back([&each] { each = digest_of("bfs", 1); });
  for (std::thread& thread : threads) thread.join();
  for (const std::optional<Digest>& each : found) EXPECT_TRUE(each == expected);
}

}  // namespace
}  // namespace isthmus::workloads
