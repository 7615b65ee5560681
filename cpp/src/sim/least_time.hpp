// The least time that the cores need for a program, whatever migrates: a bound below every policy.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/machine.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

/// Passes a source's blocks on, and adds up what each launch takes at least: the longest of
///
///   its instructions through the issue slots of all cores
///   its lines through the load/store units of all cores
///   its longest warp: dependent instructions, and the shortest wait for each load and atomic
///   all its warps' shortest times, in as many warps as run at once
///
/// Caches, DRAM, translation and the link are left out: they depend on what migrates, and on the
/// order in which requests meet. The time with all data resident ("ideal") has them, in one order,
/// so another policy can be some percent below it.
class LeastTime : public trace::Source {
public:
  /// Both outlive this object.
  LeastTime(const ModelledMachine& machine, trace::Source& source);

  const trace::Program& program() const override { return source_.program(); }
  std::optional<trace::Block> next() override;
  void rewind() override;

  /// Of all launches whose blocks have been passed on, with their latencies: those of a stream one
  /// after the other. Of several streams, the longest: of one of them, or of all instructions or lines.
  Picoseconds total_ps() const;

private:
  struct Launch {
    std::uint64_t instructions = 0;
    std::uint64_t lines = 0;
    Picoseconds longest_warp_ps = 0;
    Wide warps_ps = 0;  // all added up: more than a run's time
  };
  void add(const trace::Block& block);
  Picoseconds wait_ps(trace::OpKind kind, std::uint32_t num_lines) const;
  Picoseconds of_launch(const Launch& done, const trace::Launch& launch) const;

  const ModelledMachine& machine_;
  trace::Source& source_;
  Picoseconds cycle_ps_;
  Picoseconds dependent_issue_ps_;
  Picoseconds line_ps_;    // of a load/store unit
  Picoseconds atomic_ps_;  // to the partition and back
  Picoseconds load_ps_;    // the shortest: from L1, or from the partition
  std::vector<Launch> launches_;
};

}  // namespace isthmus::sim
