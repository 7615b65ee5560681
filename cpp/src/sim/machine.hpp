// The simulated machine, made of the rows of parameters.inc. Without a file it is `paper-gtx480`;
// other machines are data (python/isthmus/sim/machines).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "sim/time.hpp"

namespace isthmus::sim {

/// The types of quantities.
namespace quantity {
using number = std::uint32_t;  ///< at least 1
using count = std::uint32_t;
using size = std::uint32_t;    ///< bytes
using extent = std::uint32_t;  ///< bytes, at least 1
using memory = std::uint64_t;  ///< the same, of any number
using frequency = std::uint64_t;
using bandwidth = std::uint64_t;
using bandwidth_or_0 = std::uint64_t;
using duration = Picoseconds;
using flag = bool;
}  // namespace quantity

/// How a driver handles faults.
enum class Handling : std::uint8_t {
  each,    ///< every migration is `latency_ps` late, independently
  batch,   ///< one batch at a time: later faults wait for the next one
  serial,  ///< one fault after the other (UVMSmart's accurate mode)
  /// As each, without a driver: the lanes that miss fetch what they lack, by loads of the host's
  /// memory. So a warp waits for what its stores lack, too. Each migration is `fetch_ps` late
  /// besides: what the lanes' program takes.
  lanes,
};
constexpr auto words_of(Handling) { return std::array{"each", "batch", "serial", "lanes"}; }

/// Whether faults don't wait for each other.
constexpr bool side_by_side(Handling handling) {
  return handling == Handling::each || handling == Handling::lanes;
}

/// What a driver maps and migrates at most, and at least.
inline constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20U;
inline constexpr std::uint64_t kPageBytes = 4096;

/// A copy of `size_bytes` keeps the link busy for `busy_ps`.
struct LinkCost {
  std::uint64_t size_bytes = 0;
  Picoseconds busy_ps = 0;
};

#define ISTHMUS_GROUP(type, group, meaning) struct type {
#define ISTHMUS_PARAMETER(group, name, member, kind, initial, ...) quantity::kind member = initial;
#define ISTHMUS_MEMBER(member, type, ...) type member = __VA_ARGS__;
#define ISTHMUS_GROUP_END \
  }                       \
  ;
#include "sim/parameters.inc"

struct ModelledMachine {
#define ISTHMUS_GROUP(type, group, meaning) type group;
#include "sim/parameters.inc"
};

/// A row of parameters.inc.
struct Parameter {
  const char* group;
  const char* name;
  const char* quantity;
  const char* meaning;
  std::uint64_t least;
  std::uint64_t most;
  bool required;
  std::uint64_t (*get)(const ModelledMachine& machine);
  /// Throws      UsageError that names the parameter, its value and what it must be.
  void (*set)(ModelledMachine& machine, std::uint64_t value);
};

/// A group of parameters.inc.
struct ParameterGroup {
  const char* name;
  const char* meaning;
};

/// All rows, in the order of the groups.
std::span<const Parameter> parameters();
std::span<const ParameterGroup> parameter_groups();

/// Checks that a machine is possible.
///
/// Throws      UsageError that names the parameter, its value and what it must be.
void check_machine(const ModelledMachine& machine);

}  // namespace isthmus::sim
