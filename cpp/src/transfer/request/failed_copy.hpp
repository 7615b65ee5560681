// Copies that have failed: no part of them is running any more, or their error says that it may be
// (DriverError::memory_in_use()). Also works when memory has run out.
#pragma once

#include <cstddef>
#include <exception>
#include <string>

#include "driver/driver.hpp"

namespace isthmus::transfer {

inline std::string undefined_text(std::size_t begin, std::size_t end) {
  return "bytes [" + std::to_string(begin) + ", " + std::to_string(end) +
         ") of the target are undefined";
}

/// Prepares what can't be allocated once memory has run out. Call before the first copy.
void prepare_for_failures();

/// True if this failure means that the copy's memory must be kept.
bool leaves_memory_in_use(const std::exception_ptr& failure) noexcept;

/// Waits for the work in a stream. Returns false if the driver can't. A context must be current.
bool becomes_idle(const Driver& driver, CUstream stream) noexcept;

// Called while the exception of a failed copy, of whatever kind, is handled:

/// Waits for the rest of the copy in the stream, and throws its error again.
[[noreturn]] void throw_once_idle(const Driver& driver, CUstream stream);
/// If nobody can wait for it: throws a DriverError that says so.
[[noreturn]] void throw_of_memory_in_use();

}  // namespace isthmus::transfer
