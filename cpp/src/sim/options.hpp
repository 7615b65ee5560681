// What Zhang 2019 leaves open and the policy doesn't determine: named choices, default first.
#pragma once

#include <array>
#include <cstdint>

#include "pages/eviction.hpp"
#include "pages/own_policy.hpp"

namespace isthmus::sim {

/// How data gets to the GPU.
enum class Mode : std::uint8_t {
  migrate,     ///< on demand, by the migration policy
  programmer,  ///< copied before the program starts; then everything is resident
  overlapped,  ///< the same copies, in chunks beside the kernels (copy_plan.hpp has the rule)
  ideal,       ///< everything is resident from the start, at no cost
};
constexpr auto words_of(Mode) { return std::array{"migrate", "programmer", "overlapped", "ideal"}; }

/// Where the migration buffer's entries are. Zhang 2019 says "128 entries/memory partition".
enum class BufferScope : std::uint8_t { per_partition, total };
constexpr auto words_of(BufferScope) { return std::array{"per_partition", "total"}; }

/// Whether a request that waits for another's migration takes an entry of the migration buffer, too.
enum class MergedWaiters : std::uint8_t { free, take_entries };
constexpr auto words_of(MergedWaiters) { return std::array{"free", "take_entries"}; }

/// Whether per-thread (spill) pages migrate. Off by default: a runtime allocates them on the GPU.
enum class LocalMemory : std::uint8_t { resident, migrates };
constexpr auto words_of(LocalMemory) { return std::array{"resident", "migrates"}; }

/// The data that a programmer copies before the program starts.
enum class ProgrammerData : std::uint8_t {
  uploads,             ///< A: every explicit copy of the program
  touched_global,      ///< B: every line of global memory that the GPU touches, once
  touched_all,         ///< C: B and the lines of local memory
  touched_pages,       ///< D: every page of global memory that the GPU touches, whole and once
  uploads_or_touched,  ///< A; B for a program that copies nothing to the GPU before its kernels
};
constexpr auto words_of(ProgrammerData) {
  return std::array{"uploads", "touched_global", "touched_all", "touched_pages",
                    "uploads_or_touched"};
}

/// What the CPU's accesses between launches do to migrated pages. The flow charts of Zhang 2019 have
/// requests of the GPU alone.
enum class CpuRequests : std::uint8_t {
  take_back,  ///< pages go back to the CPU, or on a coherent link the CPU reaches over
  left_out,   ///< the GPU keeps its pages
};
constexpr auto words_of(CpuRequests) { return std::array{"take_back", "left_out"}; }

/// What a program says about its managed memory beforehand.
enum class Hints : std::uint8_t {
  none,
  prefetch,  ///< the allocations that a kernel touches are brought as it is launched, whole
  advise,    ///< each allocation has the advice that suits it (advice.hpp), and is prefetched
};
constexpr auto words_of(Hints) { return std::array{"none", "prefetch", "advise"}; }

/// The order of an overlapped program's chunks.
enum class ChunkOrder : std::uint8_t {
  in_turns,  ///< arrays that are copied together take turns: small ones come first, and all are
             ///< half there at the same time
  program,   ///< array after array, as the program copies them
};
constexpr auto words_of(ChunkOrder) { return std::array{"in_turns", "program"}; }

/// Where data is at the start. In Zhang 2019 all of it is in host memory.
enum class Initially : std::uint8_t { on_cpu, on_gpu };
constexpr auto words_of(Initially) { return std::array{"on_cpu", "on_gpu"}; }

struct Options {
  Mode mode = Mode::migrate;
  BufferScope buffer_scope = BufferScope::per_partition;
  MergedWaiters merged_waiters = MergedWaiters::free;
  LocalMemory local_memory = LocalMemory::resident;
  ProgrammerData programmer_data = ProgrammerData::uploads;
  std::uint64_t chunk_bytes =
      64U << 10U;  ///< of overlapped copies: 4 us at 16 GB/s. A copy command
                   ///< takes 2.5 us on an H100 (benchmarks/link)
  ChunkOrder chunk_order = ChunkOrder::in_turns;
  bool count_downloads = false;  ///< in the time; Zhang 2019 counts only copies to the GPU
  Hints hints = Hints::none;     ///< migrate
  CpuRequests cpu_requests = CpuRequests::take_back;  ///< migrate
  Initially initially = Initially::on_cpu;
  bool l1_kept_between_launches = false;  ///< GPGPU-Sim's GTX480 clears it after each kernel
  pages::EvictionPolicy eviction;         ///< limit_bytes 0: the machine's partitions.memory_bytes
  const pages::OwnPolicy* own = nullptr;  ///< of the policy's kind `own`; outlives the run
};

}  // namespace isthmus::sim
