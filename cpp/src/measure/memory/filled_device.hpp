// Holds a device's memory, so that what comes then has little of it.
#pragma once

#include <vector>

#include "device/buffers.hpp"

namespace isthmus::measure {

/// Device memory that leaves only so much of it free while it lives.
class FilledDevice {
public:
  /// free_bytes   what is left, to 2 MiB
  /// Throws   Unavailable if the device has less free now, or its memory can't be filled so far.
  FilledDevice(const Context& context, std::size_t free_bytes);

private:
  void fill(const Context& context);

  std::vector<DeviceBuffer> buffers_;
};

}  // namespace isthmus::measure
