// One line of an Accel-Sim trace's body.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/checking.hpp"

namespace isthmus::trace {

/// The effect of an opcode on memory traffic.
enum class OpcodeClass : std::uint8_t {
  compute,  ///< none
  global_load,
  global_store,
  global_atomic,
  generic_load,  ///< global, shared or local memory: the address decides
  generic_store,
  generic_atomic,
  local_load,
  local_store,
  copy_to_shared,  ///< LDGSTS: only one of its two addresses is recorded
  shared,          ///< stays in the SM
  barrier,         ///< waits for the CTA
  constant,        ///< addresses are never traced
  texture,         ///< addresses are never traced; surfaces too
  bulk_copy,       ///< of Hopper's copy engine; its addresses have a separate format
  group_multiply,  ///< of a warp group, in shared memory; a flag may precede its width
};

/// Source: the tracer and the reader of Accel-Sim.
OpcodeClass classify_opcode(std::string_view opcode);

/// The bytes that one lane accesses. The trace's own width isn't reliable: both Accel-Sim's writer
/// and its reader take it from the opcode. Unlike theirs, this also knows signed and float widths
/// (S8, F64).
///
/// Throws      UsageError for a width that no instruction has.
std::uint32_t lane_bytes(std::string_view opcode);

/// The line format that a header describes.
struct LineFormat {
  bool has_cta_and_warp = false;  ///< before the program counter, in tracer versions below 3
  bool has_source_line = false;   ///< -enable lineinfo = 1
  bool has_values = false;        ///< ends with `NoVal`, or `Val` and the registers: version 6
  /// Some tracers of versions up to 3 also give addresses of lanes that are predicated off.
  bool may_have_more_addresses = false;
};

/// A warp's instruction.
struct Instruction {
  std::uint32_t mask = 0;   ///< lanes that are active and not predicated off
  std::string_view opcode;  ///< points into the parsed text
  OpcodeClass kind = OpcodeClass::compute;
  std::uint32_t num_addresses = 0;                       ///< 0 or the number of lanes
  std::array<std::uint64_t, kThreadsPerWarp> addresses;  ///< of the lanes in the mask, in order
  /// The line has more addresses than lanes, and doesn't say whose they are: the first are taken.
  bool has_unplaced_addresses = false;
};

/// Parses `[line] PC mask num_targets [targets] opcode num_sources [sources] width [addresses]
/// [immediate [immediate]] [NoVal | Val values]`. Addresses are a list, a base and a stride, or a
/// base and differences, each to the previous lane: one fewer than lanes. The line itself shows how
/// many immediates follow: traces of version 4 have none or one, of version 5 one or two. Values
/// are, for each register, 1 or 32 and as many hexadecimal numbers. The operands of bulk copies and
/// of matrix instructions of warp groups are not parsed.
///
/// Throws      UsageError for any other line.
void parse_instruction(std::string_view line, const LineFormat& format, Instruction& instruction);

}  // namespace isthmus::trace
