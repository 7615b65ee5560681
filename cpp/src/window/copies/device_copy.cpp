#include "window/copies/device_copy.hpp"

#include <map>
#include <mutex>

#include "driver/driver.hpp"
#include "driver/locate.hpp"
#include "emulator.h"
#include "window/allocation.hpp"

namespace isthmus::window {
namespace {

using ModelledCopies = decltype(&isthmus_emulator_window_copies);

const StreamingCopy& modelled_copy(ModelledCopies copies, int device) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<int, StreamingCopy>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(device);
  if (found != known.end()) return found->second;
  const StreamingCopy& plain = best_streaming_copy();
  const IsthmusEmulatorCopies modelled = copies(device, {plain.write, plain.read});
  return known.try_emplace(device, plain.name, modelled.write, modelled.read).first->second;
}

}  // namespace

const StreamingCopy& streaming_copy_of(const Driver& driver, int device) {
  auto* const copies =
      reinterpret_cast<ModelledCopies>(emulator_function(driver, "isthmus_emulator_window_copies"));
  return copies == nullptr ? best_streaming_copy() : modelled_copy(copies, device);
}

const StreamingCopy& streaming_copy_at(const Driver& driver, std::uintptr_t pointer) {
  if (!driver.emulated()) return best_streaming_copy();
  const AnyContext any(driver);
  int device = 0;
  driver.call(symbol::pointer_get_attribute)(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                             CUdeviceptr{pointer});
  return streaming_copy_of(driver, device);
}

}  // namespace isthmus::window
