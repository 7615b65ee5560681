#include "measure/bandwidth/gpu_flows.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <isthmus/errors.hpp>

#include "measure/bandwidth/concurrent_flows.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {
namespace {

std::function<void(CUstream)> make_copy(const CopyBuffers& buffers, const Kernels* kernels,
                                        const HostFlowOptions& options) {
  buffers.check_size(options.size_bytes);
  if (buffers.host_memory() == HostMemory::pageable) {
    throw UsageError("pageable copies synchronise inside and can't run behind a gate");
  }
  const CurrentContext current(buffers.context());
  return copy_by(options.by, buffers, kernels, options.direction, options.size_bytes);
}

}  // namespace

HostFlow::HostFlow(CopyBuffers& buffers, const Kernels* kernels, const HostFlowOptions& options)
    : buffers_(buffers),
      kernels_(kernels),
      options_(options),
      copy_(make_copy(buffers, kernels, options)) {}

namespace {

constexpr unsigned char kPoison = 0xA5;
constexpr std::size_t kReadBackBytes = std::size_t{16} << 20U;
constexpr unsigned kBlockLanes = 512;
constexpr unsigned kBlocksPerMultiprocessor = 4;  // 2048 threads, as many as fit on one

std::optional<Kernel> copier(const PeerEnd& asker, Engine by) {
  if (by == Engine::copy_engine) return std::nullopt;
  if (asker.kernels == nullptr) {
    throw Unavailable("copy by multiprocessors", "there are no kernels", "NVRTC");
  }
  return asker.kernels->get("copy", "isthmus_copy");
}

unsigned blocks_for(const Context& context) {
  return kBlocksPerMultiprocessor *
         static_cast<unsigned>(std::max(1, context.device().num_multiprocessors));
}

}  // namespace

PeerFlow::PeerFlow(const PeerEnd& source, const PeerEnd& target, const PeerOptions& options)
    : source_(source),
      target_(target),
      options_(options),
      access_(asker().context, other().context),
      from_(source.context, options.size_bytes),
      to_(target.context, options.size_bytes),
      contents_(Contents::random),
      kernel_(copier(asker(), options.by)) {}

void PeerFlow::prepare() {
  const CurrentContext current(source_.context);
  if (source_.kernels != nullptr && contents_.kernels_can_check(from_.pointer())) {
    const Stream stream(source_.context);
    contents_.fill_by_kernel(*source_.kernels, stream, from_.pointer(), size_bytes());
    stream.synchronize();
  } else {
    std::vector<std::byte> bytes(size_bytes());
    contents_.fill(bytes.data(), bytes.size());
    const Driver& driver = source_.context.driver();
    driver.call(symbol::memcpy_htod)(from_.pointer(), bytes.data(), bytes.size());
    // The end of a pageable copy may still be in flight; other streams wouldn't wait for it.
    driver.call(symbol::stream_synchronize)(nullptr);
  }
}

void PeerFlow::poison() {
  const CurrentContext current(target_.context);
  const Stream stream(target_.context);
  target_.context.driver().call(symbol::memset_d8_async)(to_.pointer(), kPoison, size_bytes(),
                                                         stream.handle());
  stream.synchronize();
}

void PeerFlow::enqueue(CUstream stream) const {
  if (kernel_) {
    kernel_->launch(stream, blocks_for(context()), kBlockLanes, from_.pointer(), to_.pointer(),
                    static_cast<unsigned long long>(size_bytes()));
    return;
  }
  context().driver().call(symbol::memcpy_peer_async)(to_.pointer(), target_.context.handle(),
                                                     from_.pointer(), source_.context.handle(),
                                                     size_bytes(), stream);
}

VerifiedOn PeerFlow::verify() {
  const CurrentContext current(target_.context);
  const bool by_kernel = target_.kernels != nullptr && contents_.kernels_can_check(to_.pointer());
  const std::uint64_t mismatches =
      by_kernel ? contents_.count_by_kernel(*target_.kernels, Stream(target_.context),
                                            to_.pointer(), size_bytes())
                : mismatches_seen_from_host();
  if (mismatches == 0) return by_kernel ? VerifiedOn::device : VerifiedOn::host;
  throw CorruptTransfer("verification failed: " + std::to_string(mismatches) + " words of a " +
                        std::to_string(size_bytes()) + "-byte copy from GPU " +
                        std::to_string(source_.context.device().ordinal) + " to GPU " +
                        std::to_string(target_.context.device().ordinal) +
                        " are not what was sent");
}

std::uint64_t PeerFlow::mismatches_seen_from_host() const {
  std::vector<std::byte> chunk(std::min(size_bytes(), kReadBackBytes));
  std::uint64_t mismatches = 0;
  for (std::size_t offset = 0; offset < size_bytes(); offset += chunk.size()) {
    const std::size_t chunk_bytes = std::min(chunk.size(), size_bytes() - offset);
    target_.context.driver().call(symbol::memcpy_dtoh)(chunk.data(), to_.pointer() + offset,
                                                       chunk_bytes);
    mismatches += contents_.count_mismatches(chunk.data(), offset, chunk_bytes);
  }
  return mismatches;
}

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
