// Whether memory can be touched without a signal.
#pragma once

#include <cstddef>

#include "host/pages.hpp"

namespace isthmus::host {

/// Asks the kernel about [begin, begin + size_bytes): of up to four pages about each, of more about
/// the first and the last; they are present then. 0.1 to 0.8 us a question; 0.1 ms and more before
/// Linux 5.14, and for a device's memory.
///
/// size_bytes  > 0
/// Returns     false if a touch would be a fault: nothing is mapped there, or not for that, or a
///             file ends before (which isn't known before Linux 5.14).
bool can_touch(const void* begin, std::size_t size_bytes, Access access) noexcept;

}  // namespace isthmus::host
