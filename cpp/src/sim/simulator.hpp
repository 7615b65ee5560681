// Runs a program's memory requests on a modelled machine.
//
// Event-driven, at the granularity of warps and 128-byte lines. Events are handled in the order of
// (time, sequence), where the sequence number is assigned when an event is scheduled: a total
// order, so equal inputs give equal runs. Anything that can be computed when a request is handled
// isn't an event: a server is only the time until which it is busy, and a request at its turn takes
// the next slot.
//
//   streams   launches of one follow each other; those of different streams run at the same time,
//             and copies in a stream beside them
//   core      CTAs go in order to the core with the most room, those of the launch that began first
//             before any of the next. Source: GPGPU-Sim, select_kernel. Issue: a warp's n
//             instructions end when both its dependent chain (n x dependent_issue_cycles) and the
//             core's issue slots, taken in the order in which warps become ready, have passed.
//             Load/store unit: one line a cycle, in order; L1 with outstanding misses; TLB
//   GMMU      at the memory side: if the line isn't resident, its migration is requested or waited
//             for, or the line is fetched remotely
//   link      one server for each direction
//   L2, DRAM  in the line's partition: port, tags, DRAM channel, each first come, first served
//
// Not modelled: instruction caches, register files, pipelines and bank conflicts; shared, constant
// and texture caches; contention in the network except at the partitions' ports; back pressure of
// stores, L2 misses and DRAM queues; DRAM rows, refresh, and, unless partitions.arrivals_in_dram,
// the DRAM bandwidth of arriving data; page table reads as memory traffic (a walk is only a
// latency); computation of the CPU between launches; events between streams; coherence with the CPU
// while a kernel runs. A modelled time doesn't predict a real machine's: use it for ratios between
// policies on the same machine.
#pragma once

#include "pages/policy.hpp"
#include "sim/machine.hpp"
#include "sim/observer.hpp"
#include "sim/options.hpp"
#include "sim/result.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

/// Simulates all of `source`, from its first block.
///
/// machine     checked with check_machine first
/// policy      what migrates and when; unused in the other modes
/// source      rewound; at its end afterwards; read twice in the mode overlapped
/// observer    may be null
/// Throws      UsageError for an impossible machine, policy or trace; Deadlock if nothing can
///             continue, with what waits for what; what `observer` throws.
Result simulate(const ModelledMachine& machine, const pages::MigrationPolicy& policy,
                const Options& options, trace::Source& source, Observer* observer = nullptr);

}  // namespace isthmus::sim
