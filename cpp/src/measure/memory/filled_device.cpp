#include "measure/memory/filled_device.hpp"

#include <algorithm>
#include <string>

#include <isthmus/errors.hpp>

namespace isthmus::measure {
namespace {

/// In which drivers allocate device memory.
constexpr std::size_t kBlockBytes = std::size_t{2} << 20U;
/// What a driver keeps back may be left besides.
constexpr double kMaxExcess = 1.1;

std::size_t whole_blocks(std::size_t bytes) { return bytes / kBlockBytes * kBlockBytes; }

}  // namespace

FilledDevice::FilledDevice(const Context& context, std::size_t free_bytes) {
  if (context.free_memory_bytes() < free_bytes) {
    throw Unavailable("device memory that is left free",
                      "the device has no " + std::to_string(free_bytes) + " bytes free",
                      "less memory in use on the device");
  }
  {
    // Managed memory also gets what a driver holds back and doesn't call free: on an H100 a process
    // had 64 MiB of it. So what is to stay free is held, and all else is filled until nothing fits.
    const DeviceBuffer held(context, std::max(whole_blocks(free_bytes), kBlockBytes));
    fill(context);
  }
  const std::size_t left = context.free_memory_bytes();
  const double most = kMaxExcess * static_cast<double>(free_bytes + kBlockBytes);
  if (static_cast<double>(left) > most) {
    throw Unavailable(
        "a device whose memory is in use",
        std::to_string(left) + " bytes stay free, and not " + std::to_string(free_bytes),
        "a device that no other program uses");
  }
}

void FilledDevice::fill(const Context& context) {
  std::size_t piece = whole_blocks(context.free_memory_bytes());
  while (piece > 0) {
    try {
      buffers_.emplace_back(context, piece);
    } catch (const OutOfDeviceMemory&) {
      // What is free needn't be allocatable at once.
      piece = whole_blocks(piece / 2);
    }
  }
}

}  // namespace isthmus::measure
