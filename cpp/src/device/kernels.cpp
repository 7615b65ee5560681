#include "device/kernels.hpp"

#include <isthmus/errors.hpp>

namespace isthmus {
namespace {

std::optional<Nvrtc> nvrtc_for(const Context& context, const std::string& library) {
  if (context.driver().emulated()) return std::nullopt;
  return Nvrtc::open(library);
}

/// Everything that an image depends on. All headers are included: finding out which of them a
/// kernel needs isn't worth it.
std::string cache_key(const Nvrtc& nvrtc, const KernelSource& source, int major, int minor) {
  std::string key = "nvrtc " + nvrtc.version();
  for (const std::string& option : nvrtc.options(major, minor)) key += " " + option;
  key += std::string("\n") + source.file_name + "\n" + source.text;
  for (const KernelSource& header : kernel_headers()) {
    key += std::string("\n") + header.file_name + "\n" + header.text;
  }
  return key;
}

bool made_for_another_driver(CUresult result) {
  return result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION || result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
         result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_INVALID_PTX;
}

}  // namespace

void Kernel::launch_as_with(const Settings& settings, CUstream stream, unsigned num_blocks,
                            unsigned block_lanes, void** arguments) const {
  if (!settings.priority && !settings.cooperative)
    return launch_with(stream, num_blocks, block_lanes, arguments);
  std::array<CUlaunchAttribute, 2> attributes{};
  unsigned num_attributes = 0;
  if (settings.priority) {
    CUlaunchAttribute& attribute = attributes[num_attributes++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attribute.value.priority = *settings.priority;
  }
  if (settings.cooperative) {
    CUlaunchAttribute& attribute = attributes[num_attributes++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
  }
  CUlaunchConfig config{};
  config.gridDimX = num_blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = block_lanes;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = attributes.data();
  config.numAttrs = num_attributes;
  driver_.call(symbol::launch_kernel_ex)(&config, function_, arguments,
                                         static_cast<void**>(nullptr));
}

Kernels::Kernels(const Context& context, const Options& options)
    : state_(new State{context,
                       nvrtc_for(context, options.nvrtc_library),
                       KernelCache(options.cache_folder),
                       {},
                       {}}) {}

std::string Kernels::nvrtc_version() const {
  return state_->nvrtc ? state_->nvrtc->version() : std::string{};
}

std::string Kernels::cache_refusal() const {
  return state_->nvrtc ? state_->cache.refusal() : std::string{};
}

KernelImage Kernels::image(const std::string& stem) const {
  const KernelSource& source = kernel_source(stem);
  if (!state_->nvrtc) {
    const std::string name = "isthmus-kernels:" + stem;
    return {name.c_str(), name.c_str() + name.size() + 1};
  }
  const auto [major, minor] = state_->context.device().compute_capability;
  const std::string key = cache_key(*state_->nvrtc, source, major, minor);
  if (auto cached = state_->cache.find(key)) return *cached;
  KernelImage compiled = state_->nvrtc->compile(stem, major, minor);
  state_->cache.store(key, compiled);
  return compiled;
}

CUmodule Kernels::module(const std::string& stem) const {
  const std::scoped_lock lock(state_->mutex);
  if (const auto found = state_->modules.find(stem); found != state_->modules.end()) {
    return found->second.handle();
  }
  const KernelImage code = image(stem);
  const Driver& driver = state_->context.driver();
  const CurrentContext current(state_->context);
  CUmodule loaded = nullptr;
  const CUresult result = driver.raw(symbol::module_load_data)(&loaded, code.data());
  if (made_for_another_driver(result)) {
    throw Unavailable("kernel '" + stem + "'",
                      "the driver (CUDA " + version_text(driver.version()) +
                          ") can't load what NVRTC " + nvrtc_version() + " made",
                      "an NVRTC no newer than the driver: pip install \"isthmus[cuda" +
                          std::to_string(driver.version() / 1000) + "]\"");
  }
  driver.check(result, symbol::module_load_data.name);
  state_->modules.emplace(
      stem, Owned<CUmodule>(state_->context, loaded, driver.raw(symbol::module_unload),
                            symbol::module_unload.name));
  return loaded;
}

Kernel Kernels::get(const std::string& stem, const char* name) const {
  const CUmodule code = module(stem);
  const CurrentContext current(state_->context);
  CUfunction function = nullptr;
  state_->context.driver().call(symbol::module_get_function)(&function, code, name);
  return {state_->context.driver(), function};
}

}  // namespace isthmus
