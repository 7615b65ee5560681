#include "measure/bandwidth/host_flow.hpp"

#include <isthmus/errors.hpp>

namespace isthmus::measure {
namespace {

using AnyCopy = std::variant<Copy, SmCopy>;

AnyCopy make_copy(CopyBuffers& buffers, const Kernels* kernels, const HostFlowOptions& options) {
  buffers.check_size(options.size_bytes);
  if (buffers.host_memory() == HostMemory::pageable) {
    throw UsageError("pageable copies synchronise inside and can't run behind a gate");
  }
  const CurrentContext current(buffers.context());
  if (options.by == Engine::copy_engine) {
    return Copy(buffers, options.direction, options.size_bytes);
  }
  return SmCopy(buffers, kernels, options.direction, options.size_bytes);
}

}  // namespace

HostFlow::HostFlow(CopyBuffers& buffers, const Kernels* kernels, const HostFlowOptions& options)
    : buffers_(buffers),
      kernels_(kernels),
      options_(options),
      copy_(make_copy(buffers, kernels, options)) {}

void HostFlow::enqueue(CUstream stream) const {
  std::visit([stream](const auto& copy) { copy.enqueue(stream); }, copy_);
}

}  // namespace isthmus::measure
