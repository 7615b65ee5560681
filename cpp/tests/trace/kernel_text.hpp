// Texts of Accel-Sim traces, and the results of reading them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/accelsim_kernel.hpp"

namespace isthmus::trace::test {

inline constexpr std::string_view kHeader =
    "-kernel name = _Z5levelPi\n"
    "-kernel id = 1\n"
    "-grid dim = (2,1,1)\n"
    "-block dim = (64,1,1)\n"
    "-shmem = 0\n"
    "-nregs = 32\n"
    "-binary version = 70\n"
    "-cuda stream id = 0\n"
    "-shmem base_addr = 0x00007f1300000000\n"
    "-local mem base_addr = 0x00007f12a5000000\n"
    "-nvbit version = 1.7\n"
    "-accelsim tracer version = 5\n"
    "-enable lineinfo = 0\n"
    "\n"
    "#traces format = [line_num] PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width "
    "[adrrescompress?] [mem_addresses] immediate\n"
    "\n";

/// A warp with these instructions, one a line.
inline std::string warp_text(int warp, const std::vector<std::string>& instructions) {
  std::string text = "\nwarp = " + std::to_string(warp);
  text += "\ninsts = " + std::to_string(instructions.size()) + "\n";
  for (const std::string& instruction : instructions) text += instruction + "\n";
  return text;
}

inline std::string cta_text(const std::string& position, const std::string& warps) {
  return "\n#BEGIN_TB\n\nthread block = " + position + "\n" + warps + "\n#END_TB\n";
}

inline const std::string kExit = "0100 ffffffff 0 EXIT 0 0 0 ";

/// Two CTAs of two warps, with some of each kind of instruction.
inline std::string small_kernel() {
  const std::string busy =
      warp_text(0, {"0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R255 0 0 ",
                    "0010 ffffffff 1 R4 LDG.E 1 R28 4 1 0x7f1269c00000 4 0 ",
                    "0020 0000000f 0 STG.E.64 2 R2 R4 8 2 0x7f1269c00100 8 8 1000 0 ",
                    "0030 ffffffff 0 STL.64 2 R1 R4 8 1 0xfffff0 0 0 ",
                    "0040 ffffffff 0 BAR.SYNC 0 0 0 ", kExit});
  const std::string quiet = warp_text(1, {"0040 ffffffff 0 BAR.SYNC 0 0 0 ", kExit});
  return std::string(kHeader) + cta_text("0,0,0", busy + quiet) + cta_text("1,0,0", busy + quiet);
}

/// A copy of the contents of a kernel's blocks; owns the memory of a Block.
struct Contents {
  std::vector<std::uint32_t> op_begin{0};
  std::vector<std::uint8_t> kinds;
  std::vector<std::uint32_t> compute;
  std::vector<std::uint32_t> line_begin{0};
  std::vector<std::uint64_t> lines;
  std::uint32_t num_ctas = 0;
  std::uint32_t num_blocks = 0;
  bool operator==(const Contents&) const = default;

  void add(const Block& block) {
    const auto num_ops = static_cast<std::uint32_t>(kinds.size());
    const auto num_lines = static_cast<std::uint32_t>(lines.size());
    for (std::size_t i = 1; i < block.op_begin.size(); ++i) {
      op_begin.push_back(num_ops + block.op_begin[i]);
    }
    for (std::size_t i = 1; i < block.line_begin.size(); ++i) {
      line_begin.push_back(num_lines + block.line_begin[i]);
    }
    kinds.insert(kinds.end(), block.kinds.begin(), block.kinds.end());
    compute.insert(compute.end(), block.compute.begin(), block.compute.end());
    lines.insert(lines.end(), block.lines.begin(), block.lines.end());
    num_ctas += block.num_ctas;
    ++num_blocks;
  }
};

/// Feeds a text in pieces of `piece_bytes`.
inline Contents read_all(AccelSimKernel& kernel, std::string_view text, std::size_t piece_bytes) {
  Contents contents;
  while (!text.empty()) {
    std::string_view piece = text.substr(0, piece_bytes);
    text.remove_prefix(piece.size());
    while (!piece.empty()) {
      piece.remove_prefix(kernel.feed(piece));
      if (!kernel.block_full()) continue;
      contents.add(kernel.block());
      kernel.drop_block();
    }
  }
  kernel.finish(false);
  if (kernel.block().num_ctas > 0) contents.add(kernel.block());
  return contents;
}

inline Contents read_all(const std::string& text) {
  TouchedLines touched;
  AccelSimKernel kernel("kernel-1.traceg", 0, touched);
  return read_all(kernel, text, text.size());
}

}  // namespace isthmus::trace::test
