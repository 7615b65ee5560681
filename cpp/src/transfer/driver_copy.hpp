// The driver's own copies, complete or in stream order.
#pragma once

#include <cstddef>

#include <isthmus/transfer.hpp>

#include "driver/driver.hpp"

namespace isthmus::transfer {

/// Two ends of a copy, checked.
struct CopyEnds {
  void* target = nullptr;
  const void* source = nullptr;
  std::size_t size_bytes = 0;
  MemoryKind target_kind = MemoryKind::pageable;
  MemoryKind source_kind = MemoryKind::pageable;
  /// The pinned end reaches from one registered range into the next: the driver refuses to copy
  /// that at once.
  bool spans_registrations = false;
  /// The host's memory is a file's, which may become shorter during the copy: see HostTouch.
  bool target_may_vanish = false;
  bool source_may_vanish = false;

  bool may_vanish() const noexcept { return target_may_vanish || source_may_vanish; }
};

/// A part of a copy.
CopyEnds part_of(const CopyEnds& ends, std::size_t offset_bytes, std::size_t size_bytes) noexcept;

// Of all that throw DriverError here: nothing of the copy is under way then, or
// DriverError::memory_in_use() says that it may be.

/// Enqueues a copy; the rules for pageable memory are the driver's. A context must be current.
///
/// Throws      DriverError.
void enqueue_driver_copy(const Driver& driver, const CopyEnds& ends, CUstream stream);

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

/// Pins the whole pages of the pageable end for the time of one copy. No other copy may use those
/// pages meanwhile: it could find them pinned, and lose them under way.
///
/// Throws      Unavailable if the driver can't register the pages (registered already, read-only,
///             limits), with its answer; DriverError. Nothing stays pinned.
void copy_registered(const Driver& driver, const CopyEnds& ends, CUstream stream);

}  // namespace isthmus::transfer
