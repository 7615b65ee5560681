// cuModule*: an image is the name of a file in kernels/, whose kernels this library contains.
// cuLaunchKernel, cuLaunchKernelEx: each kernel has its own thread and runs beside copies and the CPU.
#include <algorithm>
#include <cstring>

#include "api/call.hpp"
#include "api/context.hpp"
#include "kernels/kernel_traffic.hpp"
#include "machine/machine.hpp"
#include "streams/stream_capture.hpp"

namespace isthmus::emulator {
namespace {

constexpr std::string_view kImagePrefix = "isthmus-kernels:";

std::string_view stem_of(const void* image) {
  const auto* text = static_cast<const char*>(image);
  // A cubin has no terminating null: the comparison stops at the first difference.
  const bool ours = std::strncmp(text, kImagePrefix.data(), kImagePrefix.size()) == 0;
  require(ours, CUDA_ERROR_INVALID_IMAGE);
  const auto kernels = host_kernels();
  const std::string_view stem = text + kImagePrefix.size();
  const auto found = std::ranges::find(kernels, stem, &HostKernel::stem);
  require(found != kernels.end(), CUDA_ERROR_INVALID_IMAGE);
  return found->stem;
}

const HostKernel& find_kernel(const Module& module, std::string_view name) {
  for (const HostKernel& kernel : host_kernels()) {
    if (kernel.stem == module.stem && kernel.name == name) return kernel;
  }
  throw Refusal{CUDA_ERROR_NOT_FOUND};
}

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

CUresult launch(Call& call, CUfunction handle, CUstream stream_handle, void** parameters,
                void** extra) {
  Context& context = current_context();
  Lock lock = lock_machine();
  const StreamPtr stream = find_stream(lock, context, stream_handle);
  const HostKernel& kernel = *machine().functions.find(handle)->kernel;
  require(extra == nullptr && (parameters != nullptr || kernel.num_parameters == 0));
  call.note("kernel", kernel.name).note("stream", stream->number);
  std::function<void()> run = kernel.bind(parameters);
  if (!record_if_captured(lock, stream, {{}, run}))
    enqueue_launch(lock, context, stream, std::move(run));
  return CUDA_SUCCESS;
}

}  // namespace

void enqueue_launch(Lock& lock, Context& context, const StreamPtr& stream,
                    std::function<void()> run) {
  enqueue(lock, stream, make_launch(context, std::move(run)));
}

}  // namespace isthmus::emulator

using namespace isthmus::emulator;

extern "C" {

CUresult CUDAAPI cuModuleLoadData(CUmodule* handle, const void* image) {
  return Call("cuModuleLoadData")([&] {
    Context& context = current_context();
    require(handle != nullptr && image != nullptr);
    auto module = std::make_shared<Module>();
    module->context = &context;
    module->stem = stem_of(image);
    const Lock lock = lock_machine();
    *handle = machine().modules.add(std::move(module));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuModuleUnload(CUmodule handle) {
  return Call("cuModuleUnload")([&] {
    current_context();
    const Lock lock = lock_machine();
    const std::shared_ptr<Module> module = machine().modules.remove(handle);
    machine().functions.remove_if([&](const Function& each) { return each.module == module; });
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction* handle, CUmodule module_handle, const char* name) {
  return Call("cuModuleGetFunction")([&] {
    current_context();
    require(handle != nullptr && name != nullptr);
    const Lock lock = lock_machine();
    auto function = std::make_shared<Function>();
    function->module = machine().modules.find(module_handle);
    function->kernel = &find_kernel(*function->module, name);
    *handle = machine().functions.add(std::move(function));
    return CUDA_SUCCESS;
  });
}

// CUDA's signature.
// NOLINTNEXTLINE(readability-function-size)
CUresult CUDAAPI cuLaunchKernel(CUfunction handle, unsigned int grid_x, unsigned int grid_y,
                                unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                unsigned int block_z, unsigned int shared_bytes,
                                CUstream stream_handle, void** parameters, void** extra) {
  Call call("cuLaunchKernel");
  return call([&] {
    (void)shared_bytes;
    current_context();
    require_launchable({grid_x, grid_y, grid_z}, {block_x, block_y, block_z});
    return launch(call, handle, stream_handle, parameters, extra);
  });
}

// Attributes are accepted without effect.
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction handle,
                                  void** parameters, void** extra) {
  Call call("cuLaunchKernelEx");
  return call([&] {
    current_context();
    require(config != nullptr && (config->attrs != nullptr || config->numAttrs == 0));
    require_launchable({config->gridDimX, config->gridDimY, config->gridDimZ},
                       {config->blockDimX, config->blockDimY, config->blockDimZ});
    return launch(call, handle, config->hStream, parameters, extra);
  });
}

}  // extern "C"
