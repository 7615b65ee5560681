// The text of kernels/, compiled into the library so that no file has to be found at run time.
// The project's kernels, ready to launch in one context.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "device/kernel_cache.hpp"
#include "device/nvrtc.hpp"
#include "device/owned.hpp"
#include "device/stream.hpp"

namespace isthmus {

struct KernelSource {
  const char* file_name;  ///< "pattern.cu"
  const char* text;
};

/// The files that hold kernels: *.cu
std::span<const KernelSource> kernel_sources();
/// The files they include: *.cuh
std::span<const KernelSource> kernel_headers();
/// The kernel file with this stem ("pattern"). Throws UsageError if there is none.
const KernelSource& kernel_source(std::string_view stem);

/// A kernel of a loaded module. Valid as long as the Kernels it came from.
class Kernel {
public:
  Kernel(Driver driver, CUfunction function) : driver_(std::move(driver)), function_(function) {}

  /// Enqueues a launch of `num_blocks` x `block_lanes`; returns at once.
  ///
  /// arguments   must have exactly the kernel's parameter types
  /// The caller holds a CurrentContext. Throws DriverError if the launch is refused.
  template <typename... Arguments>
  void launch(CUstream stream, unsigned num_blocks, unsigned block_lanes,
              Arguments... arguments) const {
    std::array<void*, sizeof...(Arguments)> pointers{&arguments...};
    launch_with(stream, num_blocks, block_lanes, pointers.data());
  }

  /// How a launch differs from others.
  struct Settings {
    std::optional<int> priority = {};  ///< as of cuStreamCreateWithPriority; not set: the stream's
    bool cooperative = false;          ///< all blocks are resident at once, or none starts
  };
  /// The same with settings.
  ///
  /// Throws      also Unavailable: a priority, or a cooperative launch, on a driver older than CUDA
  ///             11.8.
  template <typename... Arguments>
  void launch_as(const Settings& settings, CUstream stream, unsigned num_blocks,
                 unsigned block_lanes, Arguments... arguments) const {
    std::array<void*, sizeof...(Arguments)> pointers{&arguments...};
    launch_as_with(settings, stream, num_blocks, block_lanes, pointers.data());
  }

  /// The same for arguments whose types aren't known here.
  ///
  /// arguments   a pointer to each, in order
  void launch_with(CUstream stream, unsigned num_blocks, unsigned block_lanes,
                   void** arguments) const {
    driver_.call(symbol::launch_kernel)(function_, num_blocks, 1U, 1U, block_lanes, 1U, 1U, 0U,
                                        stream, arguments, static_cast<void**>(nullptr));
  }

private:
  void launch_as_with(const Settings& settings, CUstream stream, unsigned num_blocks,
                      unsigned block_lanes, void** arguments) const;

  Driver driver_;
  CUfunction function_;
};

/// Compiles (or takes from the cache) and loads the project's kernels on demand. It has value
/// semantics: copies share the modules. May be used from any thread.
class Kernels {
public:
  struct Options {
    std::string nvrtc_library;           ///< as Nvrtc::open takes it
    std::filesystem::path cache_folder;  ///< empty: no cache
  };

  /// Throws   Unavailable if there is no NVRTC; never on the emulated driver, which has its own
  ///          code.
  Kernels(const Context& context, const Options& options);

  /// The kernel `name` of kernels/`stem`.cu, compiled and loaded at the first call.
  ///
  /// Throws   UsageError for an unknown stem; Unavailable if the driver can't load this NVRTC's
  ///          output; DriverError if compiling or loading fails for another reason.
  Kernel get(const std::string& stem, const char* name) const;

  /// "13.0"; empty on the emulated driver.
  std::string nvrtc_version() const;

  /// Why compiled kernels aren't cached although they should be, and what to do. Empty if they are
  /// cached, and on the emulated driver, which compiles none.
  std::string cache_refusal() const;

private:
  struct State {
    Context context;
    std::optional<Nvrtc> nvrtc;
    KernelCache cache;
    std::mutex mutex;
    std::map<std::string, Owned<CUmodule>> modules;
  };
  KernelImage image(const std::string& stem) const;
  CUmodule module(const std::string& stem) const;

  std::shared_ptr<State> state_;
};

}  // namespace isthmus
