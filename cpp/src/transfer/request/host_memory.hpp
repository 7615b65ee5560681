// Whether the CPU may touch the host memory of a small copy, with as few system calls as possible.
#pragma once

#include <cstddef>

#include "driver/driver.hpp"
#include "host/memory/memory_map.hpp"
#include "host/memory/pages.hpp"

namespace isthmus::transfer {

/// How the CPU may access host memory.
enum class HostTouch {
  forbidden,  ///< nothing is mapped there, or it is protected, or a device's
  /// Only by the kernel's copies: memory that has a descriptor, a file's or shared, may shrink at
  /// any time. The CPU's own loads and stores would then raise SIGBUS.
  by_kernel,
  direct,
};

/// May be used from any thread of the process that made it.
///
/// The thread's stack and heap cost nothing. For other memory the driver and the kernel are asked,
/// which takes 0.5 to 1.5 us, and 0.2 to 0.6 us more for each further mapping of a range that lies in
/// several. What they say about whole mappings of ordinary memory holds for the calling thread until
/// the kernel's clock ticks, some milliseconds later; during that time a check takes 20 ns. If the
/// memory is unmapped or protected within that time, the copy faults as memcpy would; afterwards it
/// is an error again. This applies only to ordinary memory, and to shared
/// memory without a descriptor. Files, other shared memory and device memory are checked each time, so a file that has become shorter is an error at
/// once. Pages that a program guards inside its own mappings (MADV_GUARD_INSTALL) are treated like
/// the memory around them. Without PROCMAP_QUERY (Linux 6.11) a file's memory can't be told from
/// other memory at an acceptable cost: it is `direct` then. Nor can pages that are protected in the
/// middle of a range of more than four; a gap is found.
class HostMemory {
public:
  using Clock = host::Tick() noexcept;

  /// clock       replaces the kernel's, for tests
  explicit HostMemory(const Driver& driver, Clock* clock = host::this_tick)
      : driver_(driver), clock_(clock) {}

  /// For a range about which nothing is known. A context must be current.
  ///
  /// size_bytes  > 0
  HostTouch touch(const void* begin, std::size_t size_bytes, host::Access access) const noexcept;
  /// For memory that the driver is known not to know, or that the driver itself will copy: it takes
  /// whatever is mapped there.
  HostTouch touch_pageable(const void* begin, std::size_t size_bytes,
                           host::Access access) const noexcept;
  /// True if this thread already knows that the memory may be touched directly; asks nobody.
  bool is_known(const void* begin, std::size_t size_bytes) const noexcept;

private:
  HostTouch touch_mappings(const void* begin, std::size_t size_bytes,
                           host::Access access) const noexcept;
  bool is_ordinary(const void* begin, std::size_t size_bytes) const noexcept;

  Driver driver_;
  Clock* clock_;
  host::MemoryMap map_;
};

}  // namespace isthmus::transfer
