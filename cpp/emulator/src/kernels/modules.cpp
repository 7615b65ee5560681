// cuModule*: an image is the name of a file in kernels/, whose kernels this library contains.
#include <algorithm>
#include <cstring>

#include "api/call.hpp"
#include "api/context.hpp"
#include "machine/machine.hpp"

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

}  // namespace

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

}  // extern "C"
