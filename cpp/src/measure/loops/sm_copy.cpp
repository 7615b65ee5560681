#include "measure/loops/sm_copy.hpp"

#include <algorithm>

#include <isthmus/errors.hpp>

namespace isthmus::measure {
namespace {

// Like nvbandwidth: 512 threads a block. Two blocks saturate the link of every generation so far.
constexpr unsigned kBlockLanes = 512;
constexpr unsigned kBlocksPerMultiprocessor = 2;
constexpr std::size_t kBlockBytes = std::size_t{kBlockLanes} * 16;  // the minimum of an iteration

Kernel copy_kernel(const Kernels* kernels) {
  if (kernels == nullptr) {
    throw Unavailable("copy kernel", "there is no NVRTC to compile it", "NVRTC");
  }
  return kernels->get("copy", "isthmus_copy");
}

unsigned blocks_for(const Context& context, std::size_t size_bytes) {
  const auto most = kBlocksPerMultiprocessor *
                    static_cast<unsigned>(std::max(1, context.device().num_multiprocessors));
  const std::size_t wanted = (size_bytes + kBlockBytes - 1) / kBlockBytes;
  return static_cast<unsigned>(std::min<std::size_t>(wanted, most));
}

}  // namespace

SmCopy::SmCopy(const CopyBuffers& buffers, const Kernels* kernels, Direction direction,
               std::size_t size_bytes)
    : kernel_(copy_kernel(kernels)),
      source_(direction == Direction::host_to_device ? buffers.host_on_device() : buffers.device()),
      target_(direction == Direction::host_to_device ? buffers.device() : buffers.host_on_device()),
      size_bytes_(size_bytes),
      num_blocks_(blocks_for(buffers.context(), size_bytes)) {}

void SmCopy::enqueue(CUstream stream) const {
  kernel_.launch(stream, num_blocks_, kBlockLanes, source_, target_,
                 static_cast<unsigned long long>(size_bytes_));
}

std::function<void(CUstream)> copy_by(Engine engine, const CopyBuffers& buffers,
                                      const Kernels* kernels, Direction direction,
                                      std::size_t size_bytes) {
  if (engine == Engine::multiprocessors) {
    return [copy = SmCopy(buffers, kernels, direction, size_bytes)](CUstream stream) {
      copy.enqueue(stream);
    };
  }
  return [copy = Copy(buffers, direction, size_bytes)](CUstream stream) { copy.enqueue(stream); };
}

}  // namespace isthmus::measure
