// The simulated machine: every parameter with its unit, default and source. The defaults are those
// of `paper-gtx480`; other machines are data (python/isthmus/sim/machines).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/time.hpp"

namespace isthmus::sim {

/// A streaming multiprocessor (Zhang 2019: compute unit). Cycles are those of `clock_hz`.
struct CoreParameters {
  std::uint32_t count = 15;              ///< Zhang 2019, table 1
  std::uint64_t clock_hz = 700'000'000;  ///< 32 lanes a cycle; Zhang 2019, GPGPU-Sim's GTX480
  std::uint32_t max_warps = 48;          ///< of one core; GPGPU-Sim's GTX480 (1536 threads)
  std::uint32_t max_ctas = 8;            ///< of one core; GPGPU-Sim's GTX480
  std::uint32_t issue_per_cycle = 2;     ///< warp instructions; GPGPU-Sim's GTX480: 2 schedulers
  std::uint32_t dependent_issue_cycles = 6;  ///< between two of one warp; a guess, as
                                             ///< GPGPU-Sim has 4 (ADD) and 13 (MAX)
  std::uint32_t lines_per_cycle = 1;         ///< taken by the load/store unit; GPGPU-Sim
};

/// One core's L1 cache: physically addressed, LRU. Loads allocate, global stores bypass it, and
/// local stores stay in it until they are displaced (Fermi).
struct L1Parameters {
  std::uint32_t size_bytes = 16 * 1024;  ///< Zhang 2019; 0: no L1
  std::uint32_t ways = 4;                ///< GPGPU-Sim's GTX480: 32 sets x 4 ways x 128 B
  std::uint32_t hit_cycles = 1;          ///< GPGPU-Sim 3 has no such option: the next cycle
  std::uint32_t misses = 32;             ///< lines in flight at once; GPGPU-Sim's GTX480
  std::uint32_t merges = 8;              ///< requests waiting for one of them; GPGPU-Sim's GTX480
};

/// Address translation. Later hits don't wait for a miss (hit under miss).
struct TranslationParameters {
  std::uint32_t entries = 128;  ///< of one core; Zhang 2019
  std::uint32_t ways = 0;       ///< 0: fully associative; Zhang 2019 doesn't say
  std::uint32_t ports = 4;      ///< lookups a cycle; Zhang 2019

  std::uint32_t shared_entries = 0;  ///< second level, for all cores; 0: none. Zhang 2019's
                                     ///< TLB experiment: 256; Mosaic: 1024
  std::uint32_t shared_ways = 0;     ///< 0: fully associative; Mosaic: 16
  std::uint32_t shared_cycles = 10;  ///< of a lookup in it: a guess (Mosaic's page walk cache: 10)

  std::uint32_t walk_cycles = 100;  ///< UVMSmart (4 KiB pages; 66 for 2 MiB) and MGPUSim
  std::uint32_t walkers = 0;        ///< walks at once; 0: no limit, since Zhang 2019 has none
};

/// The network between cores and partitions. Only the partitions' ports have contention.
struct NetworkParameters {
  std::uint32_t latency_cycles = 8;            ///< one way: a guess for a two-stage network
  std::uint32_t port_bytes_per_cycle = 32;     ///< of one partition; GPGPU-Sim's Fermi: 32 B flits
  std::uint32_t partition_stripe_bytes = 256;  ///< consecutive stripes go to different partitions
};

/// Memory partitions: each has an L2 slice and a DRAM channel.
struct PartitionParameters {
  std::uint32_t count = 12;                         ///< Zhang 2019
  std::uint32_t l2_size_bytes = 128 * 1024;         ///< of one; Zhang 2019; 0: no L2
  std::uint32_t l2_ways = 8;                        ///< GPGPU-Sim's GTX480
  std::uint32_t l2_cycles = 120;                    ///< lookup and return; GPGPU-Sim: rop latency
  std::uint64_t dram_bytes_per_s = 32'000'000'000;  ///< of one: 384 GB/s in all; Zhang 2019
  std::uint32_t dram_cycles = 100;                  ///< latency on top of that; GPGPU-Sim's GTX480
  std::uint64_t memory_bytes = 1536ULL * 1024 * 1024;  ///< of the whole GPU; Zhang 2019
  bool arrivals_in_dram = false;  ///< migrated bytes keep DRAM channels busy when they arrive
};

/// The GPU's memory management unit, which knows what is resident.
struct GmmuParameters {
  std::uint32_t buffer_entries = 128;  ///< migrations in flight; Zhang 2019
  std::uint32_t query_cycles = 0;      ///< page state query and change; Zhang 2019 gives no number
};

/// A copy of `size_bytes` keeps the link busy for `busy_ps`.
struct LinkCost {
  std::uint64_t size_bytes = 0;
  Picoseconds busy_ps = 0;
};

/// CPU-GPU link: one first-come-first-served server for each direction.
struct LinkParameters {
  std::uint64_t bytes_per_s = 16'000'000'000;  ///< to the GPU; Zhang 2019: 16 and 32 GB/s
  std::uint64_t back_bytes_per_s = 0;          ///< to the CPU; 0: the same as to the GPU
  Picoseconds latency_ps = 0;                  ///< from request to first byte; Zhang 2019 has none
  std::uint32_t packet_bytes = 0;              ///< payload of one; 0: no packets. PCIe: 128 or 256
  std::uint32_t packet_overhead_bytes = 0;     ///< on top of each payload; PCIe TLP: 24
  std::vector<LinkCost> costs;                 ///< ascending; in place of bandwidth and packets.
                                               ///< Linear between points, proportional beyond
  bool half_duplex = false;                    ///< one server for both directions
  /// The CPU's lines may be in L2, and either side reaches the other's memory without a migration:
  /// an access counter's migration holds up nobody before the driver begins it, and the CPU's
  /// accesses take no pages back. NVLink-C2C; PCIe is not.
  bool coherent = false;
};

/// The cost of a page fault before its migration starts. A driver that handles batches takes
/// `latency_ps` for each batch, and in it, one after the other, `block_ps` for each block of 2 MiB
/// that it migrates from and `page_ps` for each of its pages of 4 KiB: it unmaps them from the CPU,
/// maps them for the copy, and maps them on the GPU. To make room it evicts, `evict_ps` for each part
/// that leaves (2 MiB, unless the options say otherwise). Source: NVIDIA open-gpu-kernel-modules
/// 595.45.04, uvm_gpu_replayable_faults.c, uvm_va_block.c.
struct FaultParameters {
  enum class Handling : std::uint8_t {
    each,    ///< every migration is `latency_ps` late, independently
    batch,   ///< one batch at a time: later faults wait for the next one
    serial,  ///< one fault after the other (UVMSmart's accurate mode)
    /// As each, without a driver: the lanes that miss fetch what they lack, by loads of the host's
    /// memory. So a warp waits for what its stores lack, too. Each migration is `fetch_ps` late
    /// besides: what the lanes' program takes.
    lanes,
  };
  bool side_by_side() const { return handling == Handling::each || handling == Handling::lanes; }
  Picoseconds latency_ps = 0;  ///< Zhang 2019: none. UVMSmart: 45 us; published: 20 to 50 us
  Handling handling = Handling::each;
  std::uint32_t batch_faults = 256;   ///< the most in a batch; NVIDIA's open driver
  Picoseconds block_ps = 0;           ///< for each block of a batch; `each` has no batches
  Picoseconds page_ps = 0;            ///< for each page of 4 KiB that migrates; likewise
  Picoseconds first_ps = 0;           ///< what a kernel's first batch takes longer; likewise
  Picoseconds evict_ps = 0;           ///< for each part that is evicted for a migration; likewise
  Picoseconds fetch_ps = 0;           ///< `lanes`: see there; others have none
  Picoseconds prefetch_ps = 0;        ///< for each allocation that is prefetched
  Picoseconds prefetch_block_ps = 0;  ///< and for each block of 2 MiB of it, one after the other
  /// What the CPU takes back: for each of its page faults and each page of 4 KiB; by a prefetch
  /// to it, for the call and for each block of 2 MiB.
  Picoseconds back_fault_ps = 0;
  Picoseconds back_page_ps = 0;
  Picoseconds back_prefetch_ps = 0;
  Picoseconds back_prefetch_block_ps = 0;

  static constexpr std::uint64_t kBlockBytes = std::uint64_t{2} << 20U;
  static constexpr std::uint64_t kPageBytes = 4096;
};

struct ModelledMachine {
  CoreParameters cores;
  L1Parameters l1;
  TranslationParameters translation;
  NetworkParameters network;
  PartitionParameters partitions;
  GmmuParameters gmmu;
  LinkParameters link;
  FaultParameters faults;
  Picoseconds launch_ps = 0;  ///< of a kernel; Zhang 2019: none. UVMSmart: 150 us
};

/// Checks that a machine is possible.
///
/// Throws      UsageError that names the parameter, its value and the allowed values.
void check_machine(const ModelledMachine& machine);

}  // namespace isthmus::sim
