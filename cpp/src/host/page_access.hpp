// Whether memory can be touched without a signal.
#pragma once

#include <cstddef>

namespace isthmus::host {

enum class Access { read, write };

/// Asks the kernel about the first and the last page of [begin, begin + size_bytes), which are then
/// there. 0.1 to 0.3 us a page; 0.1 ms and more before Linux 5.14, and for a device's memory.
///
/// Returns     false if a touch would be a fault: nothing is mapped there, or not for that, or a
///             file ends before (which isn't known before Linux 5.14).
bool can_touch_ends(const void* begin, std::size_t size_bytes, Access access) noexcept;

}  // namespace isthmus::host
