#include "trace/accelsim_instruction.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include <isthmus/errors.hpp>

#include "trace/text_reader.hpp"

namespace isthmus::trace {
namespace {

struct Opcode {
  std::string_view name;
  OpcodeClass kind;
};

// By the part of the name before the first dot. Sorted.
constexpr auto kOpcodes = std::to_array<Opcode>({
    {"ARRIVES", OpcodeClass::shared},       {"ATOM", OpcodeClass::generic_atomic},
    {"ATOMG", OpcodeClass::global_atomic},  {"ATOMS", OpcodeClass::shared},
    {"BGMMA", OpcodeClass::group_multiply}, {"HGMMA", OpcodeClass::group_multiply},
    {"IGMMA", OpcodeClass::group_multiply}, {"LD", OpcodeClass::generic_load},
    {"LDC", OpcodeClass::constant},         {"LDCU", OpcodeClass::constant},
    {"LDG", OpcodeClass::global_load},      {"LDGSTS", OpcodeClass::copy_to_shared},
    {"LDL", OpcodeClass::local_load},       {"LDS", OpcodeClass::shared},
    {"LDSM", OpcodeClass::shared},          {"QGMMA", OpcodeClass::group_multiply},
    {"RED", OpcodeClass::global_atomic},    {"REDG", OpcodeClass::global_atomic},
    {"ST", OpcodeClass::generic_store},     {"STAS", OpcodeClass::shared},
    {"STG", OpcodeClass::global_store},     {"STL", OpcodeClass::local_store},
    {"STS", OpcodeClass::shared},           {"STSM", OpcodeClass::shared},
    {"SUATOM", OpcodeClass::texture},       {"SULD", OpcodeClass::texture},
    {"SURED", OpcodeClass::texture},        {"SUST", OpcodeClass::texture},
    {"SYNCS", OpcodeClass::shared},         {"TEX", OpcodeClass::texture},
    {"TEXS", OpcodeClass::texture},         {"TLD", OpcodeClass::texture},
    {"TLD4", OpcodeClass::texture},         {"TLD4S", OpcodeClass::texture},
    {"TLDS", OpcodeClass::texture},         {"TXD", OpcodeClass::texture},
    {"UBLKCP", OpcodeClass::bulk_copy},     {"UBLKPF", OpcodeClass::bulk_copy},
    {"UBLKRED", OpcodeClass::bulk_copy},    {"ULDC", OpcodeClass::constant},
    {"UTMALDG", OpcodeClass::bulk_copy},    {"UTMAPF", OpcodeClass::bulk_copy},
    {"UTMAREDG", OpcodeClass::bulk_copy},   {"UTMASTG", OpcodeClass::bulk_copy},
});
static_assert(std::ranges::is_sorted(kOpcodes, {}, &Opcode::name));

constexpr std::uint32_t kDefaultLaneBytes = 4;

/// Removes the part of an opcode up to the next dot, and returns it.
std::string_view next_part(std::string_view& opcode) {
  const std::size_t dot = std::min(opcode.find('.'), opcode.size());
  const std::string_view part = opcode.substr(0, dot);
  opcode.remove_prefix(std::min(dot + 1, opcode.size()));
  return part;
}

/// 8 for "8", "U8", "S8" or "F8"; none for any other part.
std::optional<std::uint32_t> bits_of(std::string_view part) {
  const bool typed = part.size() > 1 && (part[0] == 'U' || part[0] == 'S' || part[0] == 'F');
  if (typed) part.remove_prefix(1);
  std::uint32_t bits = 0;
  const auto [stopped, error] = std::from_chars(part.data(), part.data() + part.size(), bits);
  const bool whole = stopped == part.data() + part.size();
  if (part.empty() || error != std::errc{} || !whole) return std::nullopt;
  return bits;
}

enum AddressMode : std::uint8_t { kListAll = 0, kBaseStride = 1, kBaseDelta = 2 };

// A thread has 255. A larger number means that the text isn't an instruction.
constexpr std::uint64_t kMaxRegisters = 255;
constexpr int kMaxImmediates = 2;

std::uint64_t skip_registers(TextReader& words, const char* what) {
  const std::uint64_t count = words.decimal(what);
  if (count > kMaxRegisters) {
    throw UsageError(std::string(what) + " is " + std::to_string(count));
  }
  for (std::uint64_t i = 0; i < count; ++i) words.word("a register");
  return count;
}

/// Adding the lowest bit to a single run of ones clears it.
bool one_run(std::uint32_t mask) {
  const std::uint32_t lowest = mask & (0U - mask);
  return (mask & (mask + lowest)) == 0;
}

void parse_stride(TextReader& words, const LineFormat& format, Instruction& instruction) {
  const std::uint64_t base = words.address("the base address");
  const auto stride = static_cast<std::uint64_t>(words.signed_decimal("the stride"));
  if (!one_run(instruction.mask)) {
    if (!format.may_have_more_addresses) {
      throw UsageError("the addresses are a base and a stride, but the mask has a gap");
    }
    instruction.has_unplaced_addresses = true;
  }
  for (std::uint32_t lane = 0; lane < instruction.num_addresses; ++lane) {
    instruction.addresses[lane] = base + stride * lane;
  }
}

void parse_deltas(TextReader& words, Instruction& instruction) {
  std::uint64_t address = words.address("the base address");
  for (std::uint32_t lane = 0; lane < instruction.num_addresses; ++lane) {
    if (lane > 0) {
      address += static_cast<std::uint64_t>(words.signed_decimal("the address difference"));
    }
    instruction.addresses[lane] = address;
  }
}

void parse_addresses(TextReader& words, const LineFormat& format, Instruction& instruction) {
  const std::uint64_t mode = words.decimal("the address mode");
  instruction.num_addresses = static_cast<std::uint32_t>(std::popcount(instruction.mask));
  switch (mode) {
    case kListAll:
      for (std::uint32_t lane = 0; lane < instruction.num_addresses; ++lane) {
        instruction.addresses[lane] = words.address("an address");
      }
      return;
    case kBaseStride:
      return parse_stride(words, format, instruction);
    case kBaseDelta:
      return parse_deltas(words, instruction);
    default:
      throw UsageError("the address mode is " + std::to_string(mode) + ": 0, 1 and 2 are known");
  }
}

void skip_values(TextReader& words, std::uint64_t num_registers) {
  for (std::uint64_t i = 0; i < num_registers; ++i) {
    const std::uint64_t count = words.decimal("the number of a register's values");
    if (count != 1 && count != kThreadsPerWarp) {
      throw UsageError("a register has " + std::to_string(count) + " values, not 1 or 32");
    }
    for (std::uint64_t k = 0; k < count; ++k) words.hexadecimal("a register's value");
  }
  if (!words.at_end()) throw UsageError("the line goes on after the registers' values");
}

void skip_more_addresses(TextReader& words, Instruction& instruction) {
  while (!words.at_end()) {
    words.address_or_difference("an address of a lane that is predicated off");
    instruction.has_unplaced_addresses = true;
  }
}

/// What follows the addresses.
void skip_end(TextReader& words, const LineFormat& format, std::uint64_t num_registers) {
  int num_immediates = 0;
  while (!words.at_end()) {
    const std::string_view word = words.word("the immediate");
    if (format.has_values && word == "Val") return skip_values(words, num_registers);
    if (format.has_values && word == "NoVal") return skip_values(words, 0);
    require_integer(word, "the immediate");
    if (++num_immediates > kMaxImmediates) {
      throw UsageError("the line goes on after the immediates");
    }
  }
  if (format.has_values) throw UsageError("the line ends where Val or NoVal should be");
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

OpcodeClass classify_opcode(std::string_view opcode) {
  const std::string_view name = next_part(opcode);
  if (name == "BAR") {
    const std::string_view what = next_part(opcode);
    return what == "SYNC" || what == "RED" ? OpcodeClass::barrier : OpcodeClass::compute;
  }
  const auto* const found = std::ranges::lower_bound(kOpcodes, name, {}, &Opcode::name);
  return found != kOpcodes.end() && found->name == name ? found->kind : OpcodeClass::compute;
}

std::uint32_t lane_bytes(std::string_view opcode) {
  const std::string_view whole = opcode;
  next_part(opcode);
  while (!opcode.empty()) {
    const auto bits = bits_of(next_part(opcode));
    if (!bits) continue;
    if (*bits != 8 && *bits != 16 && *bits != 32 && *bits != 64 && *bits != 128 && *bits != 256) {
      throw UsageError("opcode '" + shown(whole) + "' has a width of " + std::to_string(*bits) +
                       " bits");
    }
    return *bits / 8;
  }
  return kDefaultLaneBytes;
}

void parse_instruction(std::string_view line, const LineFormat& format, Instruction& instruction) {
  TextReader words(line);
  skip_place(words, format);
  instruction.mask = parse_mask(words);
  instruction.num_addresses = 0;
  instruction.has_unplaced_addresses = false;
  std::uint64_t num_registers = skip_registers(words, "the number of target registers");
  instruction.opcode = words.word("the opcode");
  if (instruction.opcode.front() < 'A' || instruction.opcode.front() > 'Z') {
    throw UsageError("where the opcode should be is '" + shown(instruction.opcode) + "'");
  }
  instruction.kind = classify_opcode(instruction.opcode);
  num_registers += skip_registers(words, "the number of source registers");
  const std::uint64_t width = words.decimal("the width");
  if (instruction.kind == OpcodeClass::bulk_copy) return;
  if (instruction.kind == OpcodeClass::group_multiply) return;
  if (width > 0) {
    parse_addresses(words, format, instruction);
    if (format.may_have_more_addresses) return skip_more_addresses(words, instruction);
  }
  skip_end(words, format, num_registers);
}

}  // namespace isthmus::trace
