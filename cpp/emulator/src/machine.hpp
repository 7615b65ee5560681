// The state of the emulated machine. One for each process, never destroyed: its threads outlive
// main().
#pragma once

#include <array>
#include <atomic>
#include <unordered_map>

#include "address_map.hpp"
#include "arrays.hpp"
#include "context.hpp"
#include "graphs.hpp"
#include "handle_table.hpp"
#include "kernels.hpp"
#include "memory_objects.hpp"
#include "profiles.hpp"
#include "scheduler.hpp"
#include "stream_capture.hpp"
#include "virtual_memory.hpp"

namespace isthmus::emulator {

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
  std::atomic<std::uint64_t> modelled_ns{0};  ///< what isthmus_emulator_modelled_ns returns
  Scheduler scheduler;

  // Guarded by the scheduler's mutex.
  std::array<Device, kMaxDevices> devices;
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

}  // namespace isthmus::emulator
