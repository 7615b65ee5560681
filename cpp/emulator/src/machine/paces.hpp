// The speed of the active profile's transfers, by kinds of memory.
#pragma once

#include "machine/link.hpp"
#include "machine/machine.hpp"

namespace isthmus::emulator {

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
