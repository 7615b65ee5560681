// Copies of several GPUs at once: with the host, or with each other.
#pragma once

#include <optional>
#include <vector>

#include "measure/bandwidth/peer_flow.hpp"
#include "measure/loops/copy_buffers.hpp"

namespace isthmus::measure {

/// A GPU that takes part.
struct Gpu {
  Context context;
  const Kernels* kernels = nullptr;
  std::optional<int> node;  ///< of host memory near it; empty: any
};

struct AllGpusOptions {
  Direction direction = Direction::host_to_device;
  bool both_ways = false;  ///< each GPU copies in the other direction, too
  Engine by = Engine::copy_engine;
  std::size_t size_bytes = 0;
  bool under_load = false;  ///< only the first GPU, alone and while all copy
  Stopping stopping;
};

/// Measures copies between pinned host memory and all GPUs, by measure_aggregate or
/// measure_under_load, and throws what these throw.
Measurement measure_all_gpus(const std::vector<Gpu>& gpus, const AllGpusOptions& options);

struct PeersOptions {
  PeerOptions peer;
  bool both_ways = false;  ///< while the other GPU makes the same copies
  Stopping stopping;
};

/// Measures copies that the first GPU makes from or to the second, by measure_flow or
/// measure_under_load, and throws what these throw.
Measurement measure_peers(const std::vector<Gpu>& gpus, const PeersOptions& options);

struct OneGpuOptions {
  PeerOptions peer;
  bool gathers = false;  ///< the first GPU receives; else it sends
  Stopping stopping;
};

/// Measures copies between the first GPU and all others, by measure_aggregate as "copy_time", and
/// throws what that throws.
Measurement measure_one_gpu(const std::vector<Gpu>& gpus, const OneGpuOptions& options);

}  // namespace isthmus::measure
