// Copies that have failed: nothing of them is under way any more, or their error says that it may
// be (DriverError::memory_in_use()). Holds where memory has run out, too.
#pragma once

#include <exception>

#include "driver/driver.hpp"

namespace isthmus::transfer {

/// Makes what can't be made once memory has run out. Before the first copy.
void prepare_for_failures();

/// True if this is why the memory of a copy must be kept.
bool leaves_memory_in_use(const std::exception_ptr& failure) noexcept;

/// Waits for what is in a stream. Returns false if the driver won't. A context is current.
bool comes_to_rest(const Driver& driver, CUstream stream) noexcept;

// While an exception is handled that the copy has failed with, of whatever kind:

/// Waits for what the copy has left in the stream, and throws its error again.
[[noreturn]] void throw_at_rest(const Driver& driver, CUstream stream);
/// Nobody can wait for it: throws a DriverError that says so.
[[noreturn]] void throw_of_memory_in_use();

}  // namespace isthmus::transfer
