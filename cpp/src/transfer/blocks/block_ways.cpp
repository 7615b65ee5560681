#include "transfer/blocks/block_ways.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <isthmus/errors.hpp>

#include "transfer/plan/link_costs.hpp"

namespace isthmus::transfer {
namespace {

constexpr std::array kWays{Way::batch, Way::kernel, Way::staged};

double number(std::size_t count) { return static_cast<double>(count); }

/// One multiprocessor's seconds for a block, if few of them work. This and the following were
/// measured on an H200: benchmarks/blocks/README.md.
double kernel_seconds(std::size_t block_bytes) { return 95e-9 + number(block_bytes) / 30e9; }

/// What a copy of a batch takes in addition to its bytes: 0.4 to 3.4 us between 4 and 16 KiB.
constexpr double kBatchSeconds = 1.6e-6;
/// From the call to the first byte, and from the last one until the CPU knows.
constexpr double kStartSeconds = 14e-6;

double link_seconds(const DevicePaths& device, const BlockRoute& route, std::size_t size_bytes) {
  // Within an H100 blocks cross its memory twice; NVLink carries 450 GB/s.
  if (!route.crosses) return number(size_bytes) / 1.2e12;
  if (route.to_peer) return number(size_bytes) / 400e9;
  return LinkCosts(device, route.direction).of(size_bytes);
}

}  // namespace

std::string_view name_of(Way way) noexcept {
  switch (way) {
    case Way::batch:
      return "batch";
    case Way::kernel:
      return "kernel";
    case Way::staged:
      return "staged";
  }
  return "unknown";
}

std::optional<Way> way_named(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const Way way : kWays)
    if (name_of(way) == name) return way;
  throw UsageError("no way to copy blocks is called '" + std::string(name) +
                   "': there are batch, kernel and staged");
}

BlockLaunch launch_for(const DevicePaths& device, const BlockRoute& route,
                       std::size_t block_bytes) {
  // What limits shorter ones is the link, or the finding of pages.
  block_bytes = std::max(block_bytes, std::size_t{4096});
  const double link = std::max(1e-12, link_seconds(device, route, block_bytes));
  // Across the link more than it takes only fill the queues of the GPU; within the GPU the last of
  // several add less than the first.
  const double share = route.crosses ? 1 : 1.2;
  const double wanted = std::ceil(share * kernel_seconds(block_bytes) / link);
  const int most = std::max(1, device.context().device().num_multiprocessors);
  BlockLaunch launch;
  launch.num_multiprocessors = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(most)));
  if (route.crosses && !route.to_peer)
    launch.host_end =
        route.direction == Direction::host_to_device ? HostEnd::source : HostEnd::target;
  return launch;
}

double seconds_of(Way way, const DevicePaths& device, const BlockRoute& route,
                  const BlockVolume& volume, int num_multiprocessors) {
  const double link = link_seconds(device, route, volume.block_bytes) * number(volume.num_blocks);
  const double share = number(volume.num_blocks) / std::max(1, num_multiprocessors);
  switch (way) {
    case Way::kernel:
      return kStartSeconds + std::max(link, share * kernel_seconds(volume.block_bytes));
    case Way::batch:
      return kStartSeconds + link + number(volume.num_runs) * kBatchSeconds;
    case Way::staged:
      return 0;
  }
  return 0;
}

}  // namespace isthmus::transfer
