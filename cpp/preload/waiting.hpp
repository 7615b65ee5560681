// Waiting for what the driver orders a copy after, without an effect on anybody else.
#pragma once

#include "preload/reading.hpp"

namespace isthmus::preload {

/// The stream that a call means.
CUstream stream_of(const Entry& entry, const What& what);

/// Waits for a stream's earlier work. No capture is disturbed, whatever thread began it.
///
/// for_all     also for what comes before new work in the stream without being in it: that of the
///             legacy default stream before blocking streams, and theirs before it
/// Returns     what the driver says of that work
CUresult wait_for(CUstream stream, bool for_all);

}  // namespace isthmus::preload
