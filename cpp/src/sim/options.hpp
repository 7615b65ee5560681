// What the paper leaves open and the policy doesn't decide: each a named choice, default first.
#pragma once

#include <cstdint>

#include "pages/eviction.hpp"

namespace isthmus::sim {

/// How data comes to the GPU.
enum class Mode : std::uint8_t {
  migrate,     ///< on demand, by the migration policy
  programmer,  ///< copied before the program starts; then all is resident
  ideal,       ///< all is resident from the start, for nothing
};

/// Whose entries the migration buffer's are. The paper writes "128 entries/memory partition".
enum class BufferScope : std::uint8_t { per_partition, total };

/// Do per-thread (spill) pages migrate? Off by default: a runtime allocates them on the GPU.
enum class LocalMemory : std::uint8_t { resident, migrates };

/// What a programmer copies before the program starts.
enum class ProgrammerData : std::uint8_t {
  uploads,         ///< A: what the program's explicit copies say, each of them
  touched_global,  ///< B: every line that the GPU touches, once, of global memory
  touched_all,     ///< C: B and local memory's lines
};

/// Where data is at the start. The paper: all of it in CPU memory.
enum class Initially : std::uint8_t { on_cpu, on_gpu };

struct Options {
  Mode mode = Mode::migrate;
  BufferScope buffer_scope = BufferScope::per_partition;
  LocalMemory local_memory = LocalMemory::resident;
  ProgrammerData programmer_data = ProgrammerData::uploads;
  bool count_downloads = false;  ///< in the time. The paper counts only what is copied to the GPU
  Initially initially = Initially::on_cpu;
  bool l1_kept_between_launches = false;  ///< GPGPU-Sim's GTX480 empties it after each kernel
  pages::EvictionPolicy eviction;         ///< limit_bytes 0: the machine's partitions.memory_bytes
};

}  // namespace isthmus::sim
