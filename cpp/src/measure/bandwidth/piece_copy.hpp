// One of many copies, enqueued by its own call.
#pragma once

#include "device/link_copies.hpp"

namespace isthmus::measure {

/// Enqueues cuMemcpyHtoDAsync or cuMemcpyDtoHAsync. The caller holds a CurrentContext.
inline void enqueue(const Driver& driver, const LinkCopy& copy, CUstream stream) {
  if (copy.to_device) {
    driver.call(symbol::memcpy_htod_async)(copy.device, copy.host, copy.size_bytes, stream);
  } else {
    driver.call(symbol::memcpy_dtoh_async)(copy.host, copy.device, copy.size_bytes, stream);
  }
}

}  // namespace isthmus::measure
