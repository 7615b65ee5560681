// How a paged array's kernels are launched. For the files of PagedMemory alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "paged/paged_memory.hpp"

namespace isthmus {

inline constexpr unsigned kPagedBlockLanes = 256;
inline constexpr std::uint64_t kMaxPagedBlocks = 1024;  // kPagedResults of them are kept

inline unsigned paged_blocks_for(std::uint64_t num_lanes, const Context& context) {
  const std::uint64_t resident = std::min(
      kMaxPagedBlocks, std::uint64_t(std::max(1, context.device().num_multiprocessors)) * 8);
  return unsigned(std::clamp<std::uint64_t>((num_lanes + kPagedBlockLanes - 1) / kPagedBlockLanes,
                                            1, resident));
}

template <typename... Arguments>
void PagedMemory::launch(CUstream stream, const char* name, std::uint64_t num_lanes,
                         const Arguments&... arguments) const {
  launch_blocks(stream, name, paged_blocks_for(num_lanes, context_), arguments...);
}

template <typename... Arguments>
void PagedMemory::launch_blocks(CUstream stream, const char* name, unsigned num_blocks,
                                const Arguments&... arguments) const {
  const Kernel kernel = this->kernel(name);
  std::unique_lock lock(viewing_);
  const CUdeviceptr view = view_held_of(stream);
  // A budgeted array keeps it until the launch: a thread that goes to another stream waits for what was
  // launched in this one, and frees no frame that this kernel reads.
  if (!budgeted()) lock.unlock();
  const CurrentContext current(context_);
  kernel.launch(stream, num_blocks, kPagedBlockLanes, view, arguments...);
}

}  // namespace isthmus
