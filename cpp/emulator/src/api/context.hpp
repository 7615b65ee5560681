// Devices and contexts.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api/cuda_api.hpp"
#include "machine/link.hpp"
#include "machine/profiles.hpp"
#include "streams/scheduler.hpp"

namespace isthmus::emulator {

class MemoryObject;

/// A device's primary context, or one that was created. Its address is the CUcontext handle; the object
/// is never destroyed.
struct Context {
  int ordinal = 0;
  std::uint64_t id = 0;  ///< never used again
  /// Alive while this isn't 0. Written only with the mutex, also read without.
  std::atomic<std::size_t> num_retained{0};
  /// Read without the mutex by operations that wait for memory: they give up when the context
  /// closes.
  std::atomic<bool> closing{false};
  StreamPtr default_stream;
  /// The stream that CU_STREAM_PER_THREAD means, for each thread that has used it.
  std::unordered_map<std::thread::id, StreamPtr> thread_streams;
  std::vector<OperationPtr> orphans;      ///< last operations of destroyed streams
  std::array<bool, kMaxDevices> peers{};  ///< whose memory it may access

  CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
};

/// Makes a context, which isn't alive yet, of a device.
void prepare(Context& context, int ordinal);

/// A device's engines, which work concurrently, its link, and its allocations.
struct Device {
  Context context;
  std::atomic<std::size_t> used_bytes{0};              ///< objects return theirs without the mutex
  std::atomic<std::uint64_t> pool_threshold_bytes{0};  ///< of its default memory pool
  /// Objects that small allocations share; some may have expired.
  std::vector<std::weak_ptr<MemoryObject>> shared_objects;
  SharedLink upward;    ///< from the host, or from a peer
  SharedLink downward;  ///< to the host, or to a peer
  Lane host_to_device{{.thread_name = "emu-h2d", .num_slots = 1, .callers_may_help = true}};
  Lane device_to_host{{.thread_name = "emu-d2h", .num_slots = 1, .callers_may_help = true}};
  Lane inside{{.thread_name = "emu-memory", .num_slots = 1, .callers_may_help = true}};
  Lane kernels{{.thread_name = "emu-kernel", .num_slots = 4}};
  Lane host_functions{{.thread_name = "emu-hostfn", .num_slots = 1}};
};

/// A device's only memory pool. The handle is the device's address, since devices are never
/// destroyed.
inline CUmemoryPool pool_of(Device& device) { return reinterpret_cast<CUmemoryPool>(&device); }

/// The calling thread's current context, which is alive.
///
/// Throws Refusal: NOT_INITIALIZED, INVALID_CONTEXT without one, CONTEXT_IS_DESTROYED for a
/// released one.
Context& current_context();

/// The device of that ordinal. Throws Refusal: NOT_INITIALIZED, INVALID_DEVICE.
Device& device_at(CUdevice ordinal);
Device& device_of(const Context& context);

/// Blocks until all work enqueued in the context so far is complete.
void drain(Lock& lock, Context& context);

}  // namespace isthmus::emulator
