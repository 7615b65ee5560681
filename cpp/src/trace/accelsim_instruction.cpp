#include "trace/accelsim_instruction.hpp"

#include <isthmus/errors.hpp>

#include <bit>
#include <limits>
#include <string>

#include "trace/text_reader.hpp"

namespace isthmus::trace {
namespace {

enum AddressMode : std::uint8_t { kListAll = 0, kBaseStride = 1, kBaseDelta = 2 };

// An instruction has far fewer; a larger number means that the text isn't an instruction.
constexpr std::uint64_t kMaxRegisters = 64;

void skip_registers(TextReader& words, const char* what) {
  const std::uint64_t count = words.decimal(what);
  if (count > kMaxRegisters) {
    throw UsageError(std::string(what) + " is " + std::to_string(count));
  }
  for (std::uint64_t i = 0; i < count; ++i) words.word("a register");
}

/// Adding the lowest bit to a single run of ones clears it.
bool one_run(std::uint32_t mask) {
  const std::uint32_t lowest = mask & (0U - mask);
  return (mask & (mask + lowest)) == 0;
}

void parse_stride(TextReader& words, Instruction& instruction) {
  const std::uint64_t base = words.hexadecimal("the base address");
  const auto stride = static_cast<std::uint64_t>(words.signed_decimal("the stride"));
  if (!one_run(instruction.mask)) {
    throw UsageError("the addresses are a base and a stride, but the mask has a gap");
  }
  for (std::uint32_t lane = 0; lane < instruction.num_addresses; ++lane) {
    instruction.addresses[lane] = base + stride * lane;
  }
}

void parse_deltas(TextReader& words, Instruction& instruction) {
  std::uint64_t address = words.hexadecimal("the base address");
  for (std::uint32_t lane = 0; lane < instruction.num_addresses; ++lane) {
    if (lane > 0) {
      address += static_cast<std::uint64_t>(words.signed_decimal("the address difference"));
    }
    instruction.addresses[lane] = address;
  }
}

void parse_addresses(TextReader& words, Instruction& instruction) {
  const std::uint64_t mode = words.decimal("the address mode");
  instruction.num_addresses = static_cast<std::uint32_t>(std::popcount(instruction.mask));
  switch (mode) {
    case kListAll:
      for (std::uint32_t lane = 0; lane < instruction.num_addresses; ++lane) {
        instruction.addresses[lane] = words.hexadecimal("an address");
      }
      return;
    case kBaseStride:
      return parse_stride(words, instruction);
    case kBaseDelta:
      return parse_deltas(words, instruction);
    default:
      throw UsageError("the address mode is " + std::to_string(mode) + ": 0, 1 and 2 are known");
  }
}

std::uint32_t parse_mask(TextReader& words) {
  const std::uint64_t mask = words.hexadecimal("the lane mask");
  if (mask > std::numeric_limits<std::uint32_t>::max()) {
    throw UsageError("the lane mask has more than 32 lanes");
  }
  return static_cast<std::uint32_t>(mask);
}

void skip_place(TextReader& words, const LineFormat& format) {
  if (format.has_cta_and_warp) {
    for (int i = 0; i < 4; ++i) words.decimal("the thread block or warp");
  }
  if (format.has_source_line) words.decimal("the source line");
  words.hexadecimal("the program counter");
}

}  // namespace

void parse_instruction(std::string_view line, const LineFormat& format, Instruction& instruction) {
  TextReader words(line);
  skip_place(words, format);
  instruction.mask = parse_mask(words);
  instruction.num_addresses = 0;
  skip_registers(words, "the number of target registers");
  instruction.opcode = words.word("the opcode");
  if (instruction.opcode.front() < 'A' || instruction.opcode.front() > 'Z') {
    throw UsageError("where the opcode should be is '" + shown(instruction.opcode) + "'");
  }
  instruction.kind = classify_opcode(instruction.opcode);
  skip_registers(words, "the number of source registers");
  const std::uint64_t width = words.decimal("the width");
  if (instruction.kind == OpcodeClass::bulk_copy) return;
  if (width > 0) parse_addresses(words, instruction);
  if (!words.at_end()) words.word("the immediate");
  if (!words.at_end()) throw UsageError("the line goes on after the immediate");
}

}  // namespace isthmus::trace
