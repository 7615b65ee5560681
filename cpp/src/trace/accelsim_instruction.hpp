// One line of an Accel-Sim trace's body.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/accelsim_opcode.hpp"
#include "trace/checking.hpp"

namespace isthmus::trace {

/// The line format that a header describes.
struct LineFormat {
  bool has_cta_and_warp = false;  ///< before the program counter, in tracer versions below 3
  bool has_source_line = false;   ///< -enable lineinfo = 1
};

/// A warp's instruction.
struct Instruction {
  std::uint32_t mask = 0;   ///< lanes that are active and not predicated off
  std::string_view opcode;  ///< points into the parsed text
  OpcodeClass kind = OpcodeClass::compute;
  std::uint32_t num_addresses = 0;                       ///< 0 or the number of lanes
  std::array<std::uint64_t, kThreadsPerWarp> addresses;  ///< of the lanes in the mask, in order
};

/// Parses `[line] PC mask num_targets [targets] opcode num_sources [sources] width [addresses]
/// [immediate]`. Addresses are a list, a base and a stride, or a base and differences, each to the
/// previous lane: one fewer than lanes. The line itself shows whether an immediate follows: traces
/// of version 4 exist with and without. Addresses of bulk copies are not parsed.
///
/// Throws      UsageError for any other line.
void parse_instruction(std::string_view line, const LineFormat& format, Instruction& instruction);

}  // namespace isthmus::trace
