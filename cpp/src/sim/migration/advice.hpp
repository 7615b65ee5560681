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
#pragma once

#include <cstdint>
#include <vector>

#include "sim/migration/allocation_use.hpp"
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

}  // namespace isthmus::sim
