// What an instruction of a SASS trace does to memory, according to its opcode.
#pragma once

#include <cstdint>
#include <string_view>

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

}  // namespace isthmus::trace
