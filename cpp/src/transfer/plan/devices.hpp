// The paths to all devices of a driver.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/driver.hpp"
#include "transfer/plan/device_paths.hpp"
#include "transfer/plan/window_cache.hpp"

namespace isthmus::transfer {

/// Each device's DevicePaths are made on first use. May be used from any thread.
class Devices {
public:
  /// ring        the settings of each device's staging ring
  Devices(const Driver& driver, const WindowCache& windows, const RingSettings& ring = {});

  /// Cheap once it has been made.
  DevicePaths& at(int device) {
    DevicePaths* const found =
        made_.at(static_cast<std::size_t>(device)).load(std::memory_order_acquire);
    return found != nullptr ? *found : make(device);
  }
  /// A context for questions about pointers: CUDA answers none without one.
  struct AnyContext {
    std::optional<CurrentContext> pushed;  ///< if the thread had none
    bool exists = false;                   ///< false: no memory is known to CUDA
  };
  /// Makes a context current if the thread has none. It is kept, because making it again for the
  /// next copy would take longer than the copy.
  ///
  /// needed      false: doesn't create the first one of the process. A program that copies only
  ///             within the host's memory needs none, and each takes hundreds of MiB of a GPU.
  AnyContext any_context(bool needed);
  /// Makes the context of a copy's device current. A copy within the host's memory has no device:
  /// if a stream is named and the thread has no context, makes any context current, because CUDA
  /// knows no stream without one.
  ///
  /// device      null: within the host's memory
  std::optional<ContextOfDevice> context_for(const DevicePaths* device, CUstream stream);
  /// The same for a task.
  std::optional<ContextOfDevice> context_of(const Task& task, CUstream stream) {
    return context_for(task.device < 0 ? nullptr : &at(task.device), stream);
  }
  /// As Transfers::use_profile().
  void use_profile(std::string_view json);
  /// As Transfers::use_nvrtc().
  void use_nvrtc(std::string library);
  /// Why the kernels of this device can't be launched now; empty if they can. A context of the
  /// device must be current.
  std::string kernel_obstacle(DevicePaths& paths) { return obstacle_of(paths, paths.mover()); }
  /// The same for the kernels of DevicePaths::block_mover().
  std::string block_obstacle(DevicePaths& paths) { return obstacle_of(paths, paths.block_mover()); }
  /// Lets two devices reach each other's memory, once and for the life of their contexts, so that the
  /// driver copies directly between them. Where that isn't possible it copies through the host's
  /// memory.
  void join(int one, int other) noexcept;
  /// True if copies between two devices are direct, or would be after join().
  bool can_join(int one, int other);
  void trim();
  /// In a forked child: the threads don't exist, and the locks may be held for ever.
  void forget() noexcept;

private:
  using Pair = std::pair<int, int>;

  DevicePaths& make(int device);
  const DevicePaths* any_made(bool needed);
  template <typename Mover>
  std::string obstacle_of(DevicePaths& paths, Mover& mover);

  const Driver& driver_;
  const WindowCache& windows_;
  const RingSettings ring_;
  std::mutex mutex_;
  std::string nvrtc_;
  std::map<Pair, bool> joined_;  ///< whether it was possible
  std::vector<std::unique_ptr<DevicePaths>> owned_;
  std::vector<std::atomic<DevicePaths*>> made_;
};

}  // namespace isthmus::transfer
