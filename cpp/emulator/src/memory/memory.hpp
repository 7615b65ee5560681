// The memory behind ranges, and the checks of copies on it.
// The modelled time of pinning, registering and allocating memory.
#pragma once

#include <cstddef>

#include "api/context.hpp"
#include "machine/profiles.hpp"
#include "memory/memory_object.hpp"

namespace isthmus::emulator {

/// Device memory of the context's device, for cuMemAlloc. Throws Refusal(OUT_OF_MEMORY).
Range allocate_on_device(Lock& lock, Context& context, std::size_t size_bytes);

/// Returns the host pages of a range to the system, except registered ranges, which belong to the
/// caller. Device memory is freed with the last reference to its object.
void unmap(const Range& range);

/// Frees a removed range's part of a shared object for the next allocation.
void give_back_block(Lock& lock, const Range& range);

/// The address as a pointer. Device memory is ordinary memory here.
inline std::byte* to_pointer(CUdeviceptr address) { return reinterpret_cast<std::byte*>(address); }
/// A pointer as an address; device and host share one address space, as with CUDA.
inline CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// Throws Refusal(INVALID_VALUE) unless the device may access all of it: one allocation, one pinned
/// range, or adjoining mappings.
void require_device_range(Lock& lock, CUdeviceptr address, std::size_t size_bytes);

/// Whether blocking operations on that memory are complete when they return.
bool is_synchronous(Lock& lock, CUdeviceptr address);

enum class HostKind { pageable, pinned, device };

/// The kind of memory on the "host" side of a copy, which may be device memory, since there is one
/// address space.
///
/// Throws Refusal(INVALID_VALUE) for memory that is only partly pinned.
HostKind host_kind(Lock& lock, const void* host, std::size_t size_bytes);

/// `size_bytes` rounded up to whole pages; 0 if that overflows.
std::size_t whole_pages(std::size_t size_bytes);

/// Rounded to a multiple of a power of two; `rounded_up` is 0 if that overflows.
inline std::size_t rounded_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) & ~(multiple - 1);
}
inline std::size_t rounded_down(std::size_t value, std::size_t multiple) {
  return value & ~(multiple - 1);
}

/// Makes a call take its modelled time, counted from the object's construction. What this machine's
/// own kernel takes for the call is part of that time, unless it is longer.
class MemoryCall {
public:
  /// Waits for the rest of the time. Not to be called with the machine locked.
  void take(const MemoryCost& cost, std::size_t size_bytes, Duration more = kNoTime) const;

private:
  Time begin_ = Clock::now();
};

}  // namespace isthmus::emulator
