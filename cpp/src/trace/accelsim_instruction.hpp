// One line of an Accel-Sim trace's body.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/accelsim_opcode.hpp"
#include "trace/checking.hpp"

namespace isthmus::trace {

/// What a header says about how lines look.
struct LineFormat {
  bool has_cta_and_warp = false;  ///< before the program counter: tracer versions below 3
  bool has_source_line = false;   ///< -enable lineinfo = 1
};

/// A warp's instruction.
struct Instruction {
  std::uint32_t mask = 0;   ///< lanes that are active and not predicated off
  std::string_view opcode;  ///< of the text that was parsed
  OpcodeClass kind = OpcodeClass::compute;
  std::uint32_t num_addresses = 0;                       ///< 0 or the number of lanes
  std::array<std::uint64_t, kThreadsPerWarp> addresses;  ///< of the mask's lanes, in their order
};

/// Reads `[line] PC mask num_targets [targets] opcode num_sources [sources] width [addresses]
/// [immediate]`. The addresses are a list, a base and a stride, or a base and differences, each
/// from the lane before: one fewer than lanes. Whether an immediate follows is seen from the line:
/// traces of version 4 exist with and without. Those of bulk copies are not read.
///
/// Throws      UsageError for a line that is otherwise.
void parse_instruction(std::string_view line, const LineFormat& format, Instruction& instruction);

}  // namespace isthmus::trace
