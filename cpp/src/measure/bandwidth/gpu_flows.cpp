#include "measure/bandwidth/gpu_flows.hpp"

#include <memory>

#include <isthmus/errors.hpp>

#include "measure/bandwidth/concurrent_flows.hpp"
#include "measure/bandwidth/host_flow.hpp"

namespace isthmus::measure {

namespace {

class FlowGroup {
public:
  void add_host(const Gpu& gpu, Direction direction, Engine by, std::size_t size_bytes) {
    buffers_.push_back(
        std::make_unique<CopyBuffers>(gpu.context, HostMemory::pinned, size_bytes, gpu.node));
    add(std::make_unique<HostFlow>(*buffers_.back(), gpu.kernels,
                                   HostFlowOptions{direction, size_bytes, by}),
        gpu.kernels);
  }

  /// asker     makes the copy
  void add_peer(const Gpu& asker, const Gpu& other, const PeerOptions& options) {
    const bool reads = options.role == PeerRole::read;
    const Gpu& source = reads ? other : asker;
    const Gpu& target = reads ? asker : other;
    add(std::make_unique<PeerFlow>(PeerEnd{source.context, source.kernels},
                                   PeerEnd{target.context, target.kernels}, options),
        asker.kernels);
  }

  const std::vector<FlowUnderTest>& members() const noexcept { return members_; }

private:
  void add(std::unique_ptr<Flow> flow, const Kernels* kernels) {
    members_.push_back({flow.get(), kernels});
    flows_.push_back(std::move(flow));
  }

  std::vector<std::unique_ptr<CopyBuffers>> buffers_;
  std::vector<std::unique_ptr<Flow>> flows_;
  std::vector<FlowUnderTest> members_;
};

void require_two(const std::vector<Gpu>& gpus) {
  if (gpus.size() < 2) throw UsageError("copies between GPUs need two of them");
}

}  // namespace

Measurement measure_all_gpus(const std::vector<Gpu>& gpus, const AllGpusOptions& options) {
  const bool up = options.direction == Direction::host_to_device;
  const Direction other = up ? Direction::device_to_host : Direction::host_to_device;
  FlowGroup group;
  for (const Gpu& gpu : gpus)
    group.add_host(gpu, options.direction, options.by, options.size_bytes);
  for (const Gpu& gpu : options.both_ways ? gpus : std::vector<Gpu>{})
    group.add_host(gpu, other, options.by, options.size_bytes);
  const FlowOptions rule{.stopping = options.stopping};
  if (options.under_load) return measure_under_load(group.members(), 0, rule);
  return measure_aggregate(group.members(), rule);
}

Measurement measure_peers(const std::vector<Gpu>& gpus, const PeersOptions& options) {
  require_two(gpus);
  FlowGroup group;
  group.add_peer(gpus[0], gpus[1], options.peer);
  // The way back has the other GPU copy: each asks its own engine.
  if (options.both_ways) group.add_peer(gpus[1], gpus[0], options.peer);
  const FlowOptions rule{.stopping = options.stopping};
  if (options.both_ways) return measure_under_load(group.members(), 0, rule);
  return measure_flow(group.members()[0], rule);
}

Measurement measure_one_gpu(const std::vector<Gpu>& gpus, const OneGpuOptions& options) {
  require_two(gpus);
  // The one asks if it gathers by reading, or scatters by writing.
  const bool one_asks = options.gathers == (options.peer.role == PeerRole::read);
  FlowGroup group;
  for (std::size_t i = 1; i < gpus.size(); ++i) {
    group.add_peer(one_asks ? gpus[0] : gpus[i], one_asks ? gpus[i] : gpus[0], options.peer);
  }
  return measure_aggregate(group.members(), {.stopping = options.stopping}, "copy_time");
}

}  // namespace isthmus::measure
