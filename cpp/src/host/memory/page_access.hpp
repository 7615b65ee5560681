// Whether memory can be touched without a signal.
#pragma once

#include <cstddef>

#include "host/memory/pages.hpp"

namespace isthmus::host {

/// Asks the kernel about [begin, begin + size_bytes): about every page if there are up to four,
/// else about the first and the last. These pages are present afterwards. A query takes 0.1 to 0.8
/// us; before Linux 5.14, and for device memory, 0.1 ms and more.
///
/// size_bytes  > 0
/// Returns     false if touching it would fault: nothing is mapped there, or the access isn't
///             allowed, or a file ends before (which isn't known before Linux 5.14).
bool can_touch(const void* begin, std::size_t size_bytes, Access access) noexcept;

/// True if something is mapped at each byte of a range, whatever its protection. Takes 0.2 us.
bool is_mapped(const void* begin, std::size_t size_bytes) noexcept;

}  // namespace isthmus::host
