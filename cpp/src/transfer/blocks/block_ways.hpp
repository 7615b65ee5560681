// The ways to copy blocks, and what each costs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <isthmus/blocks.hpp>

#include "transfer/movers/block_mover.hpp"
#include "transfer/plan/device_paths.hpp"

namespace isthmus::transfer {

enum class Way {
  batch,   ///< cuMemcpyBatchAsync, source order ANY: a copy engine
  kernel,  ///< a kernel with loads and stores
  staged,  ///< copy_many()
};
std::string_view name_of(Way way) noexcept;
/// Throws      UsageError if no way has that name.
std::optional<Way> way_named(std::string_view name);

/// What is copied, as far as costs depend on it.
struct BlockVolume {
  std::size_t block_bytes = 0;
  std::size_t num_blocks = 0;  ///< of all layers
  std::size_t num_runs = 0;    ///< copies of a batch; 0: indices aren't known to the CPU
};

/// Where it goes.
struct BlockRoute {
  Direction direction = Direction::host_to_device;
  bool crosses = true;  ///< the link; false: within a device
  bool to_peer = false;
};

/// A launch on as many multiprocessors as reach the speed of the link, or of the device's memory.
BlockLaunch launch_for(const DevicePaths& device, const BlockRoute& route, std::size_t block_bytes);

/// Predicted seconds until a copy is complete.
double seconds_of(Way way, const DevicePaths& device, const BlockRoute& route,
                  const BlockVolume& volume, int num_multiprocessors);

}  // namespace isthmus::transfer
