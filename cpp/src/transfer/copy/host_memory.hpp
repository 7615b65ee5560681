// Whether an end of a small copy is memory that the CPU may touch, asked as seldom as can be.
#pragma once

#include <cstddef>

#include "driver/driver.hpp"
#include "host/memory_map.hpp"
#include "host/pages.hpp"
#include "host/recent_mappings.hpp"

namespace isthmus::transfer {

/// How the CPU may get at host memory.
enum class HostTouch {
  forbidden,  ///< nothing is there, or it is protected, or a device's
  /// By the kernel's copies only: a file's or shared memory, which may become shorter at any time.
  /// The CPU's own loads and stores would be a SIGBUS then.
  by_kernel,
  direct,
};

/// May be used from any thread of the process that made it.
///
/// The thread's stack and heap cost nothing. Of other memory the driver and the kernel are asked,
/// 0.5 to 1.5 us, and what they say of a whole mapping of ordinary memory holds for the calling
/// thread until the kernel's clock ticks, some milliseconds: then 20 ns. Whoever copies from memory
/// that he unmapped or protected since then gets the fault that a memcpy would be; afterwards it is
/// an error again. That is so for ordinary memory alone: a file, shared memory and a device's are
/// asked about each time, so that a file that has become shorter is an error at once. Pages that a
/// program guards inside its own mappings (MADV_GUARD_INSTALL) count as what is around them.
/// Without PROCMAP_QUERY (Linux 6.11) a file's memory can't be told from other memory at a bearable
/// price: it is `direct` then.
class HostMemory {
public:
  using Clock = host::Tick() noexcept;

  /// clock       stands in for the kernel's, for tests
  explicit HostMemory(const Driver& driver, Clock* clock = host::this_tick)
      : driver_(driver), clock_(clock) {}

  /// Of a range of which nothing is known. A context must be current.
  ///
  /// size_bytes  > 0
  HostTouch touch(const void* begin, std::size_t size_bytes, host::Access access) const noexcept;
  /// Of memory that the driver is known not to know.
  HostTouch touch_pageable(const void* begin, std::size_t size_bytes,
                           host::Access access) const noexcept;
  /// True if it may be touched directly, by what this thread knows: nobody is asked.
  bool is_known(const void* begin, std::size_t size_bytes) const noexcept;

private:
  HostTouch touch_of_pages(const void* begin, std::size_t size_bytes) const noexcept;
  bool is_ordinary(const void* begin, std::size_t size_bytes) const noexcept;

  Driver driver_;
  Clock* clock_;
  host::MemoryMap map_;
};

}  // namespace isthmus::transfer
