// The driver's own copies, complete or in stream order.
#pragma once

#include <vector>

#include "driver/driver.hpp"
#include "transfer/copy/task.hpp"

namespace isthmus::transfer {

// Of all that throw DriverError here: nothing of the copy is under way then, or
// DriverError::memory_in_use() says that it may be.

/// Enqueues a copy; the rules for pageable memory are the driver's. A context must be current.
///
/// Throws      DriverError.
void enqueue_driver_copy(const Driver& driver, const CopyEnds& ends, CUstream stream);

/// Enqueues parts of one copy: all of them, or none is under way any more.
///
/// Throws      DriverError.
void enqueue_pieces(const Driver& driver, const std::vector<CopyEnds>& pieces, CUstream stream);

/// Copies after all work in `stream`; complete on return, whoever looks. A context must be current.
///
/// ends        one of them at least a device's
/// Throws      DriverError, of earlier work in the stream too.
void copy_by_driver(const Driver& driver, const CopyEnds& ends, CUstream stream);

/// Waits for copies that were enqueued in `stream`, and for what comes before them.
///
/// Throws      DriverError, of earlier work in the stream too.
void wait_for_copies(const Driver& driver, CUstream stream);

/// True if copy_whole() does as well: the driver's own blocking call, which is of the legacy
/// default stream. It takes 0.4 us less than enqueueing and waiting. An upload from pageable memory
/// may return when its bytes are only staged. Source: CUDA Driver API 13.0, "API synchronization
/// behavior".
bool is_complete_on_return(const CopyEnds& ends, CUstream stream);

/// Copies by that call. A context must be current.
///
/// Throws      DriverError.
void copy_whole(const Driver& driver, const CopyEnds& ends);

/// As copy_by_driver(), between host and host, by the CPU.
void copy_on_host(const Driver& driver, const CopyEnds& ends, CUstream stream);

}  // namespace isthmus::transfer
