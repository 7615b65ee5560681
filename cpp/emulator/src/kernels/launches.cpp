// cuLaunchKernel: each kernel has its own thread and runs beside copies and the CPU.
#include <algorithm>

#include "api/call.hpp"
#include "api/context.hpp"
#include "kernels/kernel_traffic.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {
namespace {

constexpr std::uint64_t kMaxLanesPerBlock = 1024;

struct Extent {
  unsigned int x, y, z;
};

void require_launchable(Extent grid, Extent block) {
  require(grid.x > 0 && grid.y > 0 && grid.z > 0);
  const std::uint64_t num_lanes = std::uint64_t{block.x} * block.y * block.z;
  require(num_lanes > 0 && num_lanes <= kMaxLanesPerBlock);
}

/// A kernel takes as long as on the CPU: at least the launch latency and the modelled time of what
/// it accesses across the link, and never less than it really ran.
OperationPtr make_launch(Context& context, std::function<void()> run) {
  auto operation = std::make_shared<Operation>();
  const Duration latency = machine().profile().launch_latency;
  operation->lane = &device_of(context).kernels;
  const int ordinal = context.ordinal;
  operation->expected = latency;
  operation->work = [run = std::move(run), latency, ordinal](Time start) {
    wait_until(start + latency);
    begin_kernel(ordinal);
    run();
    const Time end = std::max(Clock::now(), traffic_end());
    wait_until(end);
    return end;
  };
  return operation;
}

}  // namespace

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

// CUDA's signature.
// NOLINTNEXTLINE(readability-function-size)
extern "C" CUresult CUDAAPI cuLaunchKernel(CUfunction handle, unsigned int grid_x,
                                           unsigned int grid_y, unsigned int grid_z,
                                           unsigned int block_x, unsigned int block_y,
                                           unsigned int block_z, unsigned int shared_bytes,
                                           CUstream stream_handle, void** parameters,
                                           void** extra) {
  Call call("cuLaunchKernel");
  return call([&] {
    (void)shared_bytes;
    Context& context = current_context();
    require_launchable({grid_x, grid_y, grid_z}, {block_x, block_y, block_z});
    Lock lock = lock_machine();
    const StreamPtr stream = find_stream(lock, context, stream_handle);
    const HostKernel& kernel = *machine().functions.find(handle)->kernel;
    require(extra == nullptr && (parameters != nullptr || kernel.num_parameters == 0));
    call.note("kernel", kernel.name).note("stream", stream->number);
    enqueue(lock, stream, make_launch(context, kernel.bind(parameters)));
    return CUDA_SUCCESS;
  });
}
