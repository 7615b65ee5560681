// What Zhang 2019 leaves open and the policy doesn't determine: named choices, default first.
#pragma once

#include <cstdint>

#include "pages/eviction.hpp"

namespace isthmus::sim {

/// How data gets to the GPU.
enum class Mode : std::uint8_t {
  migrate,     ///< on demand, by the migration policy
  programmer,  ///< copied before the program starts; then everything is resident
  ideal,       ///< everything is resident from the start, at no cost
};

/// Where the migration buffer's entries are. Zhang 2019 says "128 entries/memory partition".
enum class BufferScope : std::uint8_t { per_partition, total };

/// Whether per-thread (spill) pages migrate. Off by default: a runtime allocates them on the GPU.
enum class LocalMemory : std::uint8_t { resident, migrates };

/// The data that a programmer copies before the program starts.
enum class ProgrammerData : std::uint8_t {
  uploads,         ///< A: every explicit copy of the program
  touched_global,  ///< B: every line of global memory that the GPU touches, once
  touched_all,     ///< C: B and the lines of local memory
};

/// Where data is at the start. In Zhang 2019 all of it is in host memory.
enum class Initially : std::uint8_t { on_cpu, on_gpu };

struct Options {
  Mode mode = Mode::migrate;
  BufferScope buffer_scope = BufferScope::per_partition;
  LocalMemory local_memory = LocalMemory::resident;
  ProgrammerData programmer_data = ProgrammerData::uploads;
  bool count_downloads = false;  ///< in the time; Zhang 2019 counts only copies to the GPU
  Initially initially = Initially::on_cpu;
  bool l1_kept_between_launches = false;  ///< GPGPU-Sim's GTX480 clears it after each kernel
  pages::EvictionPolicy eviction;         ///< limit_bytes 0: the machine's partitions.memory_bytes
};

}  // namespace isthmus::sim
