#include "measure/bandwidth/host_flow.hpp"

#include <isthmus/errors.hpp>

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

}  // namespace isthmus::measure
