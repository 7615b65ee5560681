// Accel-Sim's traces of kernels: any text is refused with the line, or becomes blocks that keep the
// rules of trace.hpp, the same in whatever pieces the text comes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <isthmus/errors.hpp>

#include "expectations.hpp"
#include "trace/accelsim_kernel.hpp"
#include "trace/checking.hpp"
#include "trace/recorded.hpp"

namespace isthmus::fuzz {
namespace {

/// What an import gave: a program with its blocks, or why there is none.
struct Imported {
  std::string refusal;
  std::optional<trace::Recording> recording;
};

void take_blocks(trace::AccelSimKernel& kernel, std::string_view text, std::size_t piece_bytes,
                 trace::Recording& blocks) {
  while (!text.empty()) {
    std::string_view piece = text.substr(0, piece_bytes);
    text.remove_prefix(piece.size());
    while (!piece.empty()) {
      piece.remove_prefix(kernel.feed(piece));
      if (!kernel.block_full()) continue;
      blocks.add(kernel.block());
      kernel.drop_block();
    }
  }
  kernel.finish(true);
  if (kernel.block().num_ctas > 0) blocks.add(kernel.block());
}

Imported import(std::string_view text, std::size_t piece_bytes) {
  trace::TouchedLines touched;
  trace::AccelSimKernel kernel("kernel-1.traceg", 0, touched);
  trace::Recording blocks{trace::Program{}};
  try {
    take_blocks(kernel, text, piece_bytes, blocks);
  } catch (const UsageError& refusal) {
    expect_message(refusal);
    return {refusal.what(), std::nullopt};
  }
  trace::Program program;
  program.launches = {kernel.launch()};
  program.allocations = touched.allocations({});
  Imported imported{"", trace::Recording(program)};
  for (std::size_t i = 0; i < blocks.num_blocks(); ++i) imported.recording->add(blocks.block(i));
  return imported;
}

void expect_rules_kept(const trace::Recording& recording) {
  trace::check_program(recording.program());
  trace::BlockOrder order(recording.program());
  for (std::size_t i = 0; i < recording.num_blocks(); ++i) {
    trace::check_block(recording.program(), recording.block(i));
    order.check(recording.block(i));
  }
  order.check_end();
}

void expect_equal(const trace::Block& one, const trace::Block& other) {
  expect(std::ranges::equal(one.op_begin, other.op_begin) &&
             std::ranges::equal(one.kinds, other.kinds) &&
             std::ranges::equal(one.compute, other.compute) &&
             std::ranges::equal(one.line_begin, other.line_begin) &&
             std::ranges::equal(one.lines, other.lines),
         "pieces of another length become other blocks");
}

}  // namespace
}  // namespace isthmus::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
  using namespace isthmus::fuzz;
  if (size_bytes == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size_bytes - 1);
  const Imported whole = import(text, std::max<std::size_t>(text.size(), 1));
  const Imported pieces = import(text, std::size_t{data[0]} + 1);
  expect(whole.refusal == pieces.refusal, "pieces of another length are refused otherwise");
  if (!whole.recording) return 0;
  expect_rules_kept(*whole.recording);
  for (std::size_t i = 0; i < whole.recording->num_blocks(); ++i)
    expect_equal(whole.recording->block(i), pieces.recording->block(i));
  return 0;
}
