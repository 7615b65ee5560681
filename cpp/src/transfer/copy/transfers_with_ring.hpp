// Transfers with other staging rings than programs get.
#pragma once

#include <isthmus/transfer.hpp>

#include "transfer/staging/staging_ring.hpp"

namespace isthmus::transfer {

/// For tests that make many Transfers: a smaller ring pins less memory.
Transfers transfers_with_ring(Windows windows, const RingSettings& ring);

}  // namespace isthmus::transfer
