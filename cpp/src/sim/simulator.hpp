// Runs a program's memory requests on a modelled machine.
//
// Event-driven, at the granularity of warps and 128-byte lines. Events are handled in the order of
// (time, sequence), where the sequence number is given when an event is scheduled: a total order,
// so equal inputs give equal runs. What can be computed when a request is handled isn't an event:
// a server is the time until which it is busy, and a request at its turn takes the next slot.
//
//   core      CTAs in order to the core with most room; issue: a warp's n instructions end when its
//             own chain has (n x dependent_issue_cycles) and the core's issue slots, taken in the
//             order in which warps get ready, are through; load/store unit: one line a cycle in
//             order; L1 with misses under way; TLB
//   GMMU      at the memory side: is the line resident? If not, its migration is asked for, or
//             waited for, or the line is fetched from where it is
//   link      one server for each direction
//   L2, DRAM  of the line's partition: port, tags, DRAM channel, each first come first served
//
// Left out: instruction caches, register files, pipelines and bank conflicts; shared, constant and
// texture caches; contention in the network but at the partitions' ports; back pressure of stores,
// L2 misses and DRAM queues; DRAM rows, refresh and what arriving data takes of DRAM's bandwidth;
// page table reads as memory traffic (a walk is a latency); what the CPU computes between launches;
// overlap of launches; coherence with the CPU while a kernel runs. A modelled time is no
// prediction of a real machine's: ratios between policies on the same machine are what it is for.
#pragma once

#include "pages/policy.hpp"
#include "sim/machine.hpp"
#include "sim/observer.hpp"
#include "sim/options.hpp"
#include "sim/result.hpp"
#include "trace/trace.hpp"

namespace isthmus::sim {

/// Simulates the whole of `source`, from its first block.
///
/// machine     checked with check_machine first
/// policy      who migrates what; not used in the modes ideal and programmer
/// source      rewound; left at its end
/// observer    may be null
/// Throws      UsageError for an impossible machine, policy or trace; Deadlock when nothing can go
///             on, and says who waits for whom; what `observer` throws.
Result simulate(const Machine& machine, const pages::MigrationPolicy& policy,
                const Options& options, trace::Source& source, Observer* observer = nullptr);

}  // namespace isthmus::sim
