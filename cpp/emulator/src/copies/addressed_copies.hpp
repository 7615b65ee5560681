// Copies between two addresses: entries of batches, nodes of graphs.
#pragma once

#include "memory/memory.hpp"

namespace isthmus::emulator {

struct AddressedCopy {
  CUdeviceptr target = 0;
  CUdeviceptr source = 0;
  std::size_t size_bytes = 0;
};

/// A copy as the engine that makes it will.
///
/// context    whose device's engine it is
OperationPtr make_copy(Lock& lock, Context& context, const AddressedCopy& copy);

/// Throws Refusal(INVALID_VALUE) for 0 bytes, and for device addresses without memory.
void require_copyable(Lock& lock, const AddressedCopy& copy);

/// Adds copies to the end of a stream, one after the other. Only the first one includes the
/// latency, since one call requested all of them.
void enqueue_copies(Lock& lock, Context& context, const StreamPtr& stream,
                    const std::vector<AddressedCopy>& copies);

}  // namespace isthmus::emulator
