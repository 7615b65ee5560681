// The state of the emulated machine. One for each process, never destroyed: its threads outlive
// main().
#pragma once

#include <array>
#include <atomic>
#include <unordered_map>

#include "api/context.hpp"
#include "api/handle_table.hpp"
#include "kernels/kernels.hpp"
#include "machine/profiles.hpp"
#include "memory/address_map.hpp"
#include "memory/arrays.hpp"
#include "memory/memory_objects.hpp"
#include "memory/virtual_memory.hpp"
#include "streams/graphs.hpp"
#include "streams/scheduler.hpp"
#include "streams/stream_capture.hpp"

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
