// The advice that a programmer gives about managed memory (cudaMemAdvise), allocation by allocation.
//
// The rule. What is known of an allocation: how often the kernels ask for its bytes, whether they
// store to it, and what the CPU does with it between them (the program's copies).
//
//   in place     the preferred location is the CPU, and the GPU's accesses are mapped ("accessed
//                by"): they cross the link, without faults. If the link is done with all that the
//                kernels ask for before prefetches would be done with the allocation, and no kernel
//                has atomics there, for which hardware migrates
//   read mostly  no kernel stores to it: the GPU has a copy, the CPU keeps its own. The CPU reads
//                without taking anything back, and what it writes is invalid on the GPU
//   on the GPU   the rest: the preferred location is the GPU. What the CPU accesses goes back
//
// All but the first are prefetched, whole, as a kernel is launched that touches them. What the CPU
// hasn't written before has no place yet: it is made on the GPU, and nothing crosses the link.
// Nothing migrates on demand: what isn't on the GPU, as memory is full, is accessed over the link.
//
// Source: CUDA C++ Programming Guide, unified memory: cudaMemAdvise, cudaMemPrefetchAsync; NVIDIA
// open-gpu-kernel-modules 595.45.04, uvm_va_block.c (a fault whose page should stay elsewhere is
// mapped, atomics over PCIe migrate; pages without a residency are zeroed at their destination).
// Managed memory whose allocations are prefetched, with advice or without.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/link.hpp"
#include "sim/migration/address_map.hpp"
#include "sim/migration/allocation_use.hpp"
#include "sim/migration/gmmu.hpp"
#include "sim/options.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

enum class Advice : std::uint8_t { in_place, read_mostly, on_gpu };

/// The advice for each allocation.
///
/// uses             of `program`
/// call_bytes       what the link could carry while the driver begins to prefetch an allocation
/// count_downloads  whether the time includes what the CPU takes back
std::vector<Advice> advice_for(const trace::Program& program, const AllocationUses& uses,
                               std::uint64_t call_bytes, bool count_downloads);

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
