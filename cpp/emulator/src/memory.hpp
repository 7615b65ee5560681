// The memory behind ranges, and the checks that copies make on them.
#pragma once

#include "address_map.hpp"
#include "context.hpp"

namespace isthmus::emulator {

/// Gives a range's pages back to the system; leaves registered ranges, which are the caller's,
/// alone.
void unmap(const Range& range);

/// The address as a pointer. Device memory is ordinary memory here.
inline std::byte* to_pointer(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }
/// A pointer as an address; device and host share one address space, as with CUDA.
inline CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// Throws Refusal(INVALID_VALUE) unless the device may access all of it: one device allocation or
/// one pinned range.
void require_device_range(Lock& lock, CUdeviceptr address, std::size_t size_bytes);

enum class HostKind { pageable, pinned, device };

/// What the "host" side of a copy really is; device memory passes for it, in one address space.
///
/// Throws Refusal(INVALID_VALUE) for memory that is pinned in part only.
HostKind host_kind(Lock& lock, const void* host, std::size_t size_bytes);

/// `size_bytes` rounded up to whole pages; 0 if that overflows.
std::size_t whole_pages(std::size_t size_bytes);

}  // namespace isthmus::emulator
