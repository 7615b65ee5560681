// What the host does between launches, and how long it takes.
#pragma once

#include <cstdint>

#include "sim/link.hpp"
#include "sim/machine.hpp"
#include "sim/migration/gmmu.hpp"
#include "sim/migration/hinted_memory.hpp"
#include "sim/options.hpp"
#include "sim/result.hpp"

namespace isthmus::sim {

/// A program's own copies, or what migrating pages make of them.
class HostSteps {
public:
  /// All but `program` outlive this object. `hinted` is null without hints.
  HostSteps(const ModelledMachine& machine, const Options& options, const trace::Program& program,
            const AddressMap& map, const Residency& residency, HostLink& link, Gmmu& gmmu,
            HintedMemory* hinted, Result& result)
      : machine_(machine),
        options_(options),
        programmer_data_(data_of_programmer(options, program)),
        map_(map),
        residency_(residency),
        link_(link),
        gmmu_(gmmu),
        hinted_(hinted),
        result_(result) {}

  /// Takes a step that begins at `time_ps`. Returns when it is done.
  Picoseconds take(const trace::HostStep& step, Picoseconds time_ps);

  /// Whether a programmer copies what kernels touch, not what the program's own copies say.
  bool copies_what_was_touched() const { return programmer_data_ != ProgrammerData::uploads; }
  /// Its bytes, at the end.
  std::uint64_t bytes_to_copy() const;
  /// What kernels have touched of the bytes that were copied or migrated to the GPU.
  std::uint64_t accessed_bytes(const trace::Program& program) const;

private:
  static ProgrammerData data_of_programmer(const Options& options, const trace::Program& program);
  std::uint64_t lines_of_touched_pages() const;
  Picoseconds copy(const trace::HostStep& step, Picoseconds time_ps);
  Picoseconds take_back(const trace::HostStep& step, Picoseconds time_ps);
  Picoseconds driver_back_ps() const;
  Picoseconds reach_over(const trace::HostStep& step, Picoseconds time_ps);

  const ModelledMachine& machine_;
  const Options& options_;
  ProgrammerData programmer_data_;
  const AddressMap& map_;
  const Residency& residency_;
  HostLink& link_;
  Gmmu& gmmu_;
  HintedMemory* hinted_;
  Result& result_;
};

}  // namespace isthmus::sim
