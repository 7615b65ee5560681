#include "trace/accelsim_opcode.hpp"

#include <isthmus/errors.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

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

}  // namespace isthmus::trace
