// The state of the emulated machine, its kernels by name, and opaque handles that are never reused.
// One for each process, never destroyed: its threads outlive main().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>

#include "api/context.hpp"
#include "api/cuda_api.hpp"
#include "machine/link.hpp"
#include "machine/profiles.hpp"
#include "memory/memory_object.hpp"
#include "memory/virtual_memory.hpp"
#include "streams/scheduler.hpp"
#include "streams/stream_capture.hpp"

namespace isthmus::emulator {

struct HostKernel {
  std::string_view stem;  ///< its file, kernels/<stem>.cu
  std::string_view name;
  /// Reads the launch's parameters now; the returned function runs the kernel later.
  std::function<void()> (*bind)(void** parameters);
  std::size_t num_parameters;
};

/// Sorted by file name.
std::span<const HostKernel> host_kernels();

/// A new handle value, above those that CUDA reserves (CU_STREAM_LEGACY is 1).
inline std::uintptr_t next_handle() {
  static std::atomic<std::uintptr_t> next{0x1000};
  return next.fetch_add(16);
}

/// The live objects of one kind. Not synchronised.
template <typename Handle, typename Object>
class HandleTable {
public:
  Handle add(std::shared_ptr<Object> object) {
    const std::uintptr_t handle = next_handle();
    objects_.emplace(handle, std::move(object));
    return reinterpret_cast<Handle>(handle);
  }

  /// Throws Refusal(CUDA_ERROR_INVALID_HANDLE) for any handle that isn't alive.
  std::shared_ptr<Object> find(Handle handle) const {
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    require(found != objects_.end(), CUDA_ERROR_INVALID_HANDLE);
    return found->second;
  }

  std::shared_ptr<Object> remove(Handle handle) {
    std::shared_ptr<Object> object = find(handle);
    objects_.erase(reinterpret_cast<std::uintptr_t>(handle));
    return object;
  }

  template <typename Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(objects_, [&](const auto& row) { return predicate(*row.second); });
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& row : objects_) visit(row.second);
  }

  std::size_t size() const { return objects_.size(); }

private:
  std::map<std::uintptr_t, std::shared_ptr<Object>> objects_;
};

/// A loaded module; its kernels are part of this library.
struct Module {
  Context* context = nullptr;
  std::string_view stem;  ///< of the file in kernels/
};

struct Function {
  std::shared_ptr<Module> module;
  const HostKernel* kernel = nullptr;
};

struct EmulatedMachine {
  EmulatedMachine();

  const Profile& profile() const { return *active_profile.load(); }

  std::atomic<const Profile*> active_profile;
  std::atomic<bool> initialised{false};
  bool forked = false;  ///< after cuInit: no call works in a child, as with a real driver
  std::atomic<std::uint64_t> modelled_ns{0};  ///< what isthmus_emulator_modelled_ns returns
  Scheduler scheduler;

  // Guarded by the scheduler's mutex.
  std::array<Device, kMaxDevices> devices;
  std::vector<std::unique_ptr<Context>> created_contexts;  ///< destroyed ones, too
  AddressMap addresses;
  HandleTable<CUstream, Stream> streams;
  HandleTable<CUevent, Event> events;
  HandleTable<CUmodule, Module> modules;
  HandleTable<CUfunction, Function> functions;
  MemoryObjects objects;
  VirtualMemory virtual_memory;
  HandleTable<CUarray, Array> arrays;
  HandleTable<CUgraph, Graph> graphs;
  HandleTable<CUgraphExec, Graph> executable_graphs;
  std::vector<StreamCapture> captures;
  std::uint64_t num_streams_made = 0;
};

EmulatedMachine& machine();

/// Adds to the modelled time that tests read.
inline void count_modelled(Duration duration) {
  machine().modelled_ns.fetch_add(static_cast<std::uint64_t>(duration.count()),
                                  std::memory_order_relaxed);
}

/// Locks the machine's state.
[[nodiscard]] inline Lock lock_machine() { return machine().scheduler.lock(); }

// The speed of the active profile's transfers, by kinds of memory.

inline Pace pinned_pace() {
  return {machine().profile().copy_latency, machine().profile().pinned_bytes_per_s};
}
inline Pace pageable_pace() {
  return {machine().profile().copy_latency, machine().profile().pageable_bytes_per_s};
}
/// For copies inside the device.
inline Pace inside_pace() {
  return {machine().profile().launch_latency, machine().profile().device_bytes_per_s};
}

}  // namespace isthmus::emulator
