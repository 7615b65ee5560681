// The driver of a test binary: $ISTHMUS_DRIVER, as set by ctest (emulated) or a person (system).
#pragma once

#include "device/context.hpp"
#include "device/kernels.hpp"

namespace isthmus::test {

/// Opened once per process: a driver can't be closed.
inline const Driver& driver() {
  static const Driver opened = Driver::open();
  return opened;
}

inline Context context() { return Context::retain(driver(), 0); }

/// Kernels without a cache: on a real device, compiled by NVRTC from $ISTHMUS_NVRTC.
inline const Kernels& kernels() {
  static const Kernels built(context(), {});
  return built;
}

}  // namespace isthmus::test
