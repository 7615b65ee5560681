// The emulated machines. Every number here is a choice, not a measurement.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "clock.hpp"

namespace isthmus::emulator {

/// One emulated machine.
struct Profile {
  std::string_view name;
  std::string_view summary;      ///< one line for `isthmus_emulator_profiles`
  std::string_view device_name;  ///< appears in every result, so it says that it is emulated
  int num_devices;
  int driver_version;  ///< 1000 * major + 10 * minor
  std::size_t memory_bytes;
  double pinned_bytes_per_s;
  double pageable_bytes_per_s;
  double device_bytes_per_s;  ///< memset and copies inside the device
  Duration copy_latency;
  Duration launch_latency;
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
