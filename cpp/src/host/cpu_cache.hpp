// The CPU's caches, as far as a measurement has to empty them.
#pragma once

#include <cstddef>
#include <string_view>

namespace isthmus::host {

/// Which instruction evict_from_caches() uses: "clflush", "dc civac"; "" where there is none.
std::string_view eviction_instruction() noexcept;

/// Writes back and drops every cache line of [address, address + size_bytes) from all levels of the
/// caches of all cores, and waits for it. Contents stay as they are.
///
/// Returns     false, and does nothing, where programs may not do that
/// Source      Intel SDM vol. 2A, CLFLUSH; Arm ARM, DC CIVAC.
bool evict_from_caches(const void* address, std::size_t size_bytes) noexcept;

}  // namespace isthmus::host
