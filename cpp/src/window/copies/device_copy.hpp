// How the CPU copies through mappings of one device's memory.
#pragma once

#include <cstdint>

#include <isthmus/driver.hpp>

#include "window/copies/streaming_copy.hpp"

namespace isthmus::window {

/// On a real device, the best implementation for this machine. On an emulated one, the same in the
/// time of its modelled link. Lives until the process ends.
const StreamingCopy& streaming_copy_of(const Driver& driver, int device);
/// The same for the device that `pointer` belongs to.
const StreamingCopy& streaming_copy_at(const Driver& driver, std::uintptr_t pointer);

}  // namespace isthmus::window
