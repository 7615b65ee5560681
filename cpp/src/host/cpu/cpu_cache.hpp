// Empties the CPU's caches for measurements.
#pragma once

#include <cstddef>
#include <string_view>

namespace isthmus::host {

/// The instruction of evict_from_caches(): "clflush", "dc civac"; "" if there is none.
std::string_view eviction_instruction() noexcept;

/// Writes back and drops every cache line of [address, address + size_bytes) from all caches of all
/// cores, and waits for it. The contents don't change.
///
/// Returns     false, and does nothing, if programs may not do that
/// Source      Intel SDM vol. 2A, CLFLUSH; Arm ARM, DC CIVAC.
bool evict_from_caches(const void* address, std::size_t size_bytes) noexcept;

}  // namespace isthmus::host
