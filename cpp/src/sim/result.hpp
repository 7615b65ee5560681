// The result of a run. All of it is modelled.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/time.hpp"

namespace isthmus::sim {

/// How warps spent their time, summed over warps: warp-picoseconds. A load's wait is that of its
/// last line, divided by what that line waited for.
struct Stalls {
  Picoseconds issue_ps = 0;        ///< the warp's instructions, and others' ahead of them
  Picoseconds memory_ps = 0;       ///< caches, DRAM, and queues in front of them
  Picoseconds translation_ps = 0;  ///< page walks
  Picoseconds migration_ps = 0;    ///< faults, the migration buffer, the link
  Picoseconds barrier_ps = 0;
};

/// Bytes over the link, by cause.
struct Traffic {
  std::uint64_t copied_to_gpu = 0;    ///< a programmer's uploads
  std::uint64_t migrated_to_gpu = 0;  ///< including duplicates of unmerged requests
  std::uint64_t remote_to_gpu = 0;    ///< zero-copy loads
  std::uint64_t copied_to_cpu = 0;    ///< a programmer's downloads
  std::uint64_t returned_to_cpu = 0;  ///< pages that go back to the CPU on its request
  std::uint64_t evicted_to_cpu = 0;   ///< pages evicted to make room
  std::uint64_t remote_to_cpu = 0;    ///< zero-copy stores
};

/// Lookups for each meaning of "TLB miss rate" (Zhang 2019 doesn't define it); `shared` counts the
/// second level, which only first-level misses reach.
struct TlbCounts {
  std::uint64_t accesses = 0;           ///< one for each line request
  std::uint64_t misses = 0;             ///< the entry is missing, or still in flight
  std::uint64_t misses_or_absent = 0;   ///< the same, or the line isn't resident
  std::uint64_t accesses_after_l1 = 0;  ///< only of requests that miss in L1
  std::uint64_t misses_after_l1 = 0;
  std::uint64_t misses_or_absent_after_l1 = 0;
  std::uint64_t shared_accesses = 0;
  std::uint64_t shared_misses = 0;
};

/// Cache lookups of line requests.
struct CacheCounts {
  std::uint64_t l1_hits = 0;    ///< filled, or in flight
  std::uint64_t l1_misses = 0;  ///< without stores, which bypass it
  std::uint64_t l2_hits = 0;
  std::uint64_t l2_misses = 0;
  std::uint64_t dram_reads = 0;   ///< lines
  std::uint64_t dram_writes = 0;  ///< lines
};

inline constexpr std::size_t kNumUtilisationBins = 256;

/// The link's busy time: picoseconds for each bin of `bin_ps`, a power of two times 1.024 us; as
/// many bins as cover the run.
struct Utilisation {
  Picoseconds bin_ps = 1'024'000;
  std::array<Picoseconds, kNumUtilisationBins> to_gpu_ps{};
  std::array<Picoseconds, kNumUtilisationBins> to_cpu_ps{};
};

/// Times of one launch.
struct LaunchTimes {
  Picoseconds start_ps = 0;
  Picoseconds end_ps = 0;
};

/// The time that is within any of the spans.
inline Picoseconds covered_ps(std::vector<LaunchTimes> spans) {
  std::ranges::sort(spans, {}, &LaunchTimes::start_ps);
  Picoseconds sum = 0;
  Picoseconds until = 0;
  for (const LaunchTimes& span : spans) {
    if (span.end_ps <= until) continue;
    sum += span.end_ps - std::max(until, span.start_ps);
    until = span.end_ps;
  }
  return sum;
}

struct Result {
  Picoseconds total_ps = 0;
  Picoseconds least_ps = 0;   ///< total_ps can't be below: the cores' least time (least_time.hpp),
                              ///< or the time in which the link is busy, if that is longer
  Picoseconds copy_ps = 0;    ///< part of it: a programmer's copies, pages taken back; with
                              ///< overlapped copies, the time in which no kernel runs
  Picoseconds kernel_ps = 0;  ///< part of it: kernels, from first CTA to last request; what several
                              ///< do at the same time counts once, and not as copies
  std::vector<LaunchTimes> launches;

  Stalls stalls;
  Traffic traffic;
  TlbCounts tlb;
  CacheCounts caches;

  std::uint64_t migrations = 0;           ///< requests that reached the CPU
  std::uint64_t transfers = 0;            ///< over the link for migrations: one for each range
  std::uint64_t waits = 0;                ///< line requests that waited for another's migration
  std::uint64_t buffer_waits = 0;         ///< line requests that found the migration buffer full
  std::uint64_t fault_batches = 0;        ///< handled by the driver
  std::uint64_t fault_blocks = 0;         ///< blocks of 2 MiB in these batches, each once a batch
  std::uint64_t fault_pages = 0;          ///< pages of 4 KiB that these migrated
  std::uint64_t advised_in_place = 0;     ///< allocations that kernels touch, by their advice
  std::uint64_t advised_read_mostly = 0;  ///< likewise
  std::uint64_t advised_on_gpu = 0;       ///< likewise
  std::uint64_t evictions = 0;
  std::uint64_t cpu_requests = 0;     ///< pages that the CPU requested back
  std::uint64_t returned_steps = 0;   ///< host steps that took pages back
  std::uint64_t returned_blocks = 0;  ///< blocks of 2 MiB that went back, once for each host step
  std::uint64_t returned_faults = 0;  ///< page faults of the CPU, if it reads these in order
  std::uint64_t returned_pages = 0;   ///< pages of 4 KiB of them
  std::uint64_t touched_bytes = 0;    ///< lines x 128 since they arrived; what migrates on demand:
                                      ///< without those that the GPU has made
  std::uint64_t accessed_bytes = 0;   ///< the same of what was migrated or copied to the GPU
  std::vector<std::uint64_t>
      ranges_per_page;  ///< [n]: touched pages with n valid ranges, at the end

  Picoseconds link_to_gpu_busy_ps = 0;
  Picoseconds link_to_cpu_busy_ps = 0;
  Utilisation utilisation;

  std::uint64_t line_requests = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t num_ctas = 0;
  std::uint64_t events = 0;        ///< taken from the queue
  std::uint64_t event_digest = 0;  ///< of all events in order: equal for equal runs

  /// Share of the bytes brought to the GPU that it accessed since; 0 if none were.
  double accessed_share() const {
    const std::uint64_t brought = traffic.migrated_to_gpu + traffic.copied_to_gpu;
    return brought == 0 ? 0.0 : static_cast<double>(accessed_bytes) / static_cast<double>(brought);
  }
};

/// What is counted for each launch: Stalls, Traffic, migrations, evictions, line requests.
using Counts = std::array<std::uint64_t, 15>;
inline Counts counts_of(const Result& result) {
  const Stalls& spent = result.stalls;
  const Traffic& bytes = result.traffic;
  return {spent.issue_ps,      spent.memory_ps,       spent.translation_ps,  spent.migration_ps,
          spent.barrier_ps,    bytes.copied_to_gpu,   bytes.migrated_to_gpu, bytes.remote_to_gpu,
          bytes.copied_to_cpu, bytes.returned_to_cpu, bytes.evicted_to_cpu,  bytes.remote_to_cpu,
          result.migrations,   result.evictions,      result.line_requests};
}

}  // namespace isthmus::sim
