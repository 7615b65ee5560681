// Managed memory whose allocations are prefetched, with advice or without.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/link.hpp"
#include "sim/migration/address_map.hpp"
#include "sim/migration/advice.hpp"
#include "sim/migration/allocation_use.hpp"
#include "sim/migration/gmmu.hpp"
#include "sim/options.hpp"

namespace isthmus::sim {

/// Brings a kernel's allocations as it is launched, in the order in which the program made them,
/// while there is room; the kernel doesn't wait for all of them. The driver begins one block after
/// the other: a block's bytes are on the link before it begins the next one.
class HintedMemory {
public:
  /// All but `source` outlive this object; `source` is read, and rewound.
  ///
  /// grow        adds the chunks that are new in `map`
  HintedMemory(const ModelledMachine& machine, const Options& options, trace::Source& source,
               AddressMap& map, HostLink& link, Gmmu& gmmu, std::function<void()> grow);

  /// Counts the allocations that kernels touch by their advice into the result.
  void count_advice(Result& result) const;

  void begin_launch(std::uint32_t launch, Picoseconds time_ps);

  /// The CPU writes: what it writes exists.
  void note(const trace::HostStep& step);

  /// What the CPU accesses leaves the GPU. Only with advice: without, whole pages go back
  /// (Gmmu::cpu_request).
  ///
  /// Returns     the bytes that go back over the link
  std::uint64_t cpu_accesses(const trace::HostStep& step);

private:
  bool bring(std::uint64_t address, std::uint32_t size_bytes);
  bool advised() const { return options_.hints == Hints::advise; }

  const ModelledMachine& machine_;
  const Options& options_;
  const std::vector<trace::Allocation> allocations_;
  AddressMap& map_;
  HostLink& link_;
  Gmmu& gmmu_;
  std::function<void()> grow_;
  AllocationUses uses_;
  std::vector<Advice> advice_;  // with advice
  std::vector<bool> exists_;    // the CPU has written there, or it was made on the GPU
  Picoseconds driver_ps_ = 0;   // when the driver may begin the next block
};

}  // namespace isthmus::sim
