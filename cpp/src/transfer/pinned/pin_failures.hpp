// Why memory could not be pinned, naming the limit that was hit.
#pragma once

#include <cstddef>
#include <string>

#include <isthmus/errors.hpp>

#include "driver/driver.hpp"
#include "host/memory/memory_limits.hpp"

namespace isthmus::transfer {

/// Throws Unavailable if the machine or a cgroup has less than `size_bytes` left: touching pages
/// then would kill the process instead of throwing.
void require_room_to_pin(std::size_t size_bytes, const host::MemoryLimits& limits);

/// Throws for a refused registration. If the driver says that there is no memory or that it isn't
/// allowed: Unavailable with the limits that the size exceeds. Otherwise: DriverError.
///
/// size_bytes  of the whole region
[[noreturn]] void throw_pin_failure(const Driver& driver, CUresult result, std::size_t size_bytes,
                                    const host::MemoryLimits& limits);

/// The kernel could not map or find pages: `what` says which.
[[noreturn]] void throw_no_pages(std::size_t size_bytes, const std::string& what,
                                 const host::MemoryLimits& limits);

}  // namespace isthmus::transfer
