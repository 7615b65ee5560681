// What an instruction of a SASS trace does to memory, by its opcode.
#pragma once

#include <cstdint>
#include <string_view>

namespace isthmus::trace {

/// What an opcode means to memory traffic.
enum class OpcodeClass : std::uint8_t {
  compute,  ///< nothing
  global_load,
  global_store,
  global_atomic,
  generic_load,  ///< of global, shared or local memory: the address decides
  generic_store,
  generic_atomic,
  local_load,
  local_store,
  copy_to_shared,  ///< LDGSTS: of two addresses one is recorded
  shared,          ///< stays in the SM
  barrier,         ///< of the CTA, waited for
  constant,        ///< addresses are never traced
  texture,         ///< addresses are never traced; surfaces too
  bulk_copy,       ///< of Hopper's copy engine, with addresses in a format of its own
};

/// Source: the tracer and the reader of Accel-Sim.
OpcodeClass classify_opcode(std::string_view opcode);

/// Bytes that one lane asks for. The trace's own width can't be trusted: both Accel-Sim's writer
/// and its reader take it from the opcode. Beyond theirs, signed and float widths count too (S8,
/// F64).
///
/// Throws      UsageError for a width that no instruction has.
std::uint32_t lane_bytes(std::string_view opcode);

}  // namespace isthmus::trace
