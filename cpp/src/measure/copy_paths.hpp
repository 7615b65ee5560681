// What one copy costs by each of the ways that Transfers have.
#pragma once

#include <isthmus/transfer.hpp>

#include "measure/copy_buffers.hpp"
#include "measure/samples.hpp"

namespace isthmus::measure {

struct CopyPathOptions {
  CopyPath path = CopyPath::driver;
  Direction direction = Direction::host_to_device;
  std::size_t size_bytes = 0;
  Stopping stopping;
};

/// Measures copies of one size by one way, between the first bytes of both buffers. Yields
///
///   completion  CPU clock around Transfers::copy(), which returns when the bytes are there; of
///               several copies back to back, divided, where one is too short for the clock
///
/// Everything that the way needs (a window, threads, pinned slots) is there from the first copy on,
/// whose time is first_call_seconds. The bytes that arrived are compared on the host.
///
/// Throws      UsageError (size), Unavailable if this way can't here, CorruptTransfer, DriverError.
Measurement measure_copy_path(Transfers& transfers, CopyBuffers& buffers,
                              const CopyPathOptions& options);

}  // namespace isthmus::measure
