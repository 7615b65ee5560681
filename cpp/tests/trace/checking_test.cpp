#include "trace/checking.hpp"

#include <gtest/gtest.h>
#include <isthmus/errors.hpp>

#include <cstring>
#include <string>
#include <vector>

#include "../messages.hpp"

namespace isthmus::trace {
namespace {

using isthmus::test::message_of;
using isthmus::test::says;

/// Two CTAs of one warp: a load of two lines and an end; a local store, a barrier and an end.
struct Example {
  std::vector<std::uint32_t> op_begin{0, 2, 5};
  std::vector<std::uint8_t> kinds{0, 6, 4, 5, 6};
  std::vector<std::uint32_t> compute{1, 2, 3, 4, 5};
  std::vector<std::uint32_t> line_begin{0, 2, 2, 3, 3, 3};
  std::vector<std::uint64_t> lines{100, 200, 3};
  Program program;

  Example() {
    Launch launch;
    launch.num_ctas = 2;
    launch.warps_per_cta = 1;
    launch.threads_per_cta = 32;
    launch.local_bytes_per_thread = 16;
    program.launches = {launch};
  }

  Block block() const { return {0, 0, 2, op_begin, kinds, compute, line_begin, lines}; }
  std::string refusal() const {
    return message_of<UsageError>([&] { check_block(program, block()); });
  }
};

TEST(CheckBlock, AGoodBlockPasses) { EXPECT_EQ(Example().refusal(), ""); }

TEST(CheckBlock, ABrokenRuleIsNamed) {
  const auto broken = [](auto change, const char* what) {
    Example example;
    change(example);
    const std::string message = example.refusal();
    EXPECT_TRUE(says(message, what)) << message;
  };
  broken([](Example& e) { e.kinds[0] = 7; }, "operation 0 of warp 0 is of kind 7");
  broken([](Example& e) { e.kinds[1] = 5; }, "is its last and no end");
  broken([](Example& e) { e.kinds[3] = 6; }, "operation 1 of warp 1 is an end and not its last");
  broken([](Example& e) { e.kinds[0] = 5; }, "kind 5, has 2 lines");
  broken([](Example& e) { e.kinds[0] = 3; }, "kind 3, has 2 lines");
  broken([](Example& e) { e.line_begin[1] = 0; }, "kind 0, has 0 lines");
  broken([](Example& e) { e.line_begin[1] = 9; }, "line_begin falls");
  broken([](Example& e) { e.line_begin[5] = 4; }, "line_begin ends at 4 of 3");
  broken([](Example& e) { e.op_begin[0] = 1; }, "doesn't start at 0");
  broken([](Example& e) { e.op_begin[1] = 0; }, "warp 0 has no operations");
  broken([](Example& e) { e.op_begin.pop_back(); }, "op_begin has 2 offsets");
  broken([](Example& e) { e.compute.pop_back(); }, "compute has 4 numbers");
  broken([](Example& e) { e.lines[1] = 1ULL << 50; }, "57 bits");
  broken([](Example& e) { e.lines[2] = 4; }, "local word 4, but a thread has 16 bytes");
  broken([](Example& e) { e.program.launches[0].num_ctas = 1; }, "are not in a launch of 1");
}

TEST(CheckBlock, AnyByteOfTheOffsetsMayBeWrong) {
  const Example good;
  for (std::size_t byte = 0; byte < good.line_begin.size() * 4; ++byte) {
    for (int value = 0; value < 256; value += 5) {
      Example example;
      reinterpret_cast<unsigned char*>(example.line_begin.data())[byte] =
          static_cast<unsigned char>(value);
      const bool same = example.line_begin == good.line_begin;
      EXPECT_EQ(example.refusal().empty(), same) << byte << " " << value;
    }
  }
}

TEST(CheckProgram, AnInvalidProgramIsRefusedWithTheReason) {
  const auto refusal = [](auto change) {
    Program program = Example().program;
    change(program);
    return message_of<UsageError>([&] { check_program(program); });
  };
  EXPECT_EQ(refusal([](Program&) {}), "");
  EXPECT_TRUE(says(refusal([](Program& p) { p.launches.clear(); }), "no kernel"));
  EXPECT_TRUE(says(refusal([](Program& p) { p.launches[0].num_ctas = 0; }), "no CTAs"));
  EXPECT_TRUE(says(refusal([](Program& p) { p.launches[0].warps_per_cta = 2; }), "1 are needed"));
  EXPECT_TRUE(says(refusal([](Program& p) { p.launches[0].threads_per_cta = 2000; }), "1024"));
  EXPECT_TRUE(says(refusal([](Program& p) { p.allocations = {{"a", ~0ULL, 4}}; }), "57 bits"));
  EXPECT_TRUE(says(
      refusal([](Program& p) { p.allocations = {{"late", 0x1200, 4}, {"early", 0x1000, 0x201}}; }),
      "allocation 0 'late' overlaps allocation 1 'early'"));
  EXPECT_EQ(
      refusal([](Program& p) { p.allocations = {{"late", 0x1200, 4}, {"early", 0x1000, 0x200}}; }),
      "");
  EXPECT_TRUE(says(refusal([](Program& p) { p.after = {{HostStep::Kind::read, 4, 0}}; }),
                   "host step 0 after the last launch has no bytes"));
}

TEST(BlockOrder, EveryCtaComesOnceAndInOrder) {
  Example example;
  example.program.launches.push_back(example.program.launches[0]);
  const auto block = [](std::uint32_t launch, std::uint32_t first_cta, std::uint32_t num_ctas) {
    Block result;
    result.launch = launch;
    result.first_cta = first_cta;
    result.num_ctas = num_ctas;
    return result;
  };
  BlockOrder order(example.program);
  order.check(block(0, 0, 1));
  EXPECT_THROW(order.check(block(0, 0, 1)), UsageError);
  EXPECT_THROW(order.check(block(1, 0, 1)), UsageError);
  order.check(block(0, 1, 1));
  EXPECT_THROW(order.check_end(), UsageError);
  order.check(block(1, 0, 2));
  EXPECT_NO_THROW(order.check_end());
  EXPECT_THROW(order.check(block(1, 0, 2)), UsageError);
}

}  // namespace
}  // namespace isthmus::trace
