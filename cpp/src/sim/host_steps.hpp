// What the host does between launches, and how long it takes.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/link.hpp"
#include "sim/machine.hpp"
#include "sim/migration/gmmu.hpp"
#include "sim/migration/hinted_memory.hpp"
#include "sim/options.hpp"
#include "sim/result.hpp"

namespace isthmus::sim {

/// A program's own copies, or what migrating pages make of them. Holds what a run works with.
struct HostSteps {
  const ModelledMachine& machine;
  const Options& options;
  const trace::Program& program;
  const AddressMap& map;
  const Residency& residency;
  HostLink& link;
  Gmmu& gmmu;
  std::optional<HintedMemory>& hinted;
  Result& result;
  ProgrammerData programmer_data = data_of_programmer(options, program);

  /// Takes a step that begins at `time_ps`. Returns when it is done.
  Picoseconds take(const trace::HostStep& step, Picoseconds time_ps) const;
  /// The bytes of a programmer who copies what kernels touch, at the end.
  std::uint64_t bytes_to_copy() const;
  /// What kernels have touched of the bytes that were copied or migrated to the GPU.
  std::uint64_t accessed_bytes() const;

private:
  static ProgrammerData data_of_programmer(const Options& options, const trace::Program& program);
  std::uint64_t lines_of_touched_pages() const;
  Picoseconds copy(const trace::HostStep& step, Picoseconds time_ps) const;
  Picoseconds take_back(const trace::HostStep& step, Picoseconds time_ps) const;
  Picoseconds driver_back_ps() const;
  Picoseconds reach_over(const trace::HostStep& step, Picoseconds time_ps) const;
};

}  // namespace isthmus::sim
