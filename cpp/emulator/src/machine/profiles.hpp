// The emulated machines. Every number here is a choice, not a measurement.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "machine/clock.hpp"

namespace isthmus::emulator {

/// The time of a call that gives or takes memory.
struct MemoryCost {
  Duration call{kNoTime};
  double page_ns = 0;  ///< for each page of 4 KiB
};

/// What memory costs. What this machine's own kernel takes for a call is part of it.
struct MemoryCosts {
  MemoryCost pin;                ///< cuMemHostAlloc
  MemoryCost unpin;              ///< cuMemFreeHost
  MemoryCost enroll;             ///< cuMemHostRegister of pages that exist
  double first_touch_ns = 0;     ///< added for each registered page that doesn't exist yet
  MemoryCost withdraw;           ///< cuMemHostUnregister
  MemoryCost device_block;       ///< cuMemAlloc up to 1 MiB, and its cuMemFree
  MemoryCost device_allocation;  ///< cuMemAlloc of more
  MemoryCost device_free;
};

/// Accesses to the other side's memory by loads and stores, in both directions.
struct DirectAccess {
  Duration window_write;            ///< a write of the CPU and its fence
  double window_write_bytes_per_s;  ///< of one thread
  Duration window_read;             ///< a round trip, in which one thread reads kBytesInFlight
  Duration kernel_read;             ///< a kernel's load of host memory
  Duration kernel_write;            ///< until a kernel's store has arrived in host memory
  double kernel_bytes_per_s;        ///< of a kernel that reads or writes host memory
};

/// A core reads 16 lines of a window in one round trip. Source: benchmarks/windows.
inline constexpr std::size_t kBytesInFlight = 1024;

/// One emulated machine.
struct Profile {
  std::string_view name;
  std::string_view summary;      ///< one line for `isthmus_emulator_profiles`
  std::string_view device_name;  ///< appears in every result, so it says that it is emulated
  int num_devices;
  int driver_version;  ///< 1000 * major + 10 * minor
  std::size_t memory_bytes;
  double pinned_bytes_per_s;  ///< the rate of the link in each direction
  double pageable_bytes_per_s;
  double device_bytes_per_s;  ///< memset and copies inside the device
  Duration copy_latency;
  Duration launch_latency;
  DirectAccess direct;
  MemoryCosts memory_costs;
  bool stream_memory_operations;
  bool peer_access = true;  ///< devices may access each other's memory
  /// False: times between events are meaningless, as with confidential computing.
  bool usable_event_times = true;
  int num_busy_devices = 0;  ///< the last ones, which another process uses exclusively
  /// The device stops answering after this many copies; 0: never.
  int copies_until_lost = 0;
  std::size_t pinned_limit_bytes = 0;  ///< of host memory; 0: no limit
};

inline constexpr int kMaxDevices = 2;

std::span<const Profile> all_profiles();

/// The profile of that name, or null.
const Profile* find_profile(std::string_view name);

}  // namespace isthmus::emulator
