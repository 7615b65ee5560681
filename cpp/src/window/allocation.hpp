// What a device pointer belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/context.hpp"
#include "driver/driver.hpp"

namespace isthmus::window {

/// Makes a context current if the thread has none: without one CUDA answers nothing about pointers
/// (CUDA_ERROR_INVALID_CONTEXT). The answers are the same in any context.
class [[nodiscard]] AnyContext {
public:
  /// Throws      Unavailable if there is no device.
  explicit AnyContext(const Driver& driver);

private:
  std::optional<PrimaryContext> context_;
  std::optional<CurrentContext> current_;
};

/// A device whose primary context exists: creating one takes long, and hundreds of MiB of its
/// memory.
///
/// Returns     nullopt if there is none
std::optional<int> device_in_use(const Driver& driver);

/// One CUDA allocation, as the driver describes it.
struct Allocation {
  std::uintptr_t base = 0;
  std::size_t size_bytes = 0;
  std::uint64_t buffer_id = 0;  ///< unlike an address, unique for the life of the process
  int device = 0;
  CUcontext context = nullptr;  ///< null for memory from cuMemCreate and from pools
};

/// The allocations that contain [pointer, pointer + size_bytes), in order. More than one only for
/// adjacent mappings of cuMemMap.
///
/// Throws      UsageError, which says what the pointer is instead: null, host memory, managed
///             memory, unknown to CUDA (or freed), too short.
std::vector<Allocation> allocations_of(const Driver& driver, std::uintptr_t pointer,
                                       std::size_t size_bytes);

/// True for memory from cuMemCreate, mapped by cuMemMap: the memory after it may belong to the same
/// array. False for memory from cudaMalloc and from pools.
bool is_mapping(const Driver& driver, std::uintptr_t pointer);

/// The id of the buffer that is now at `pointer`; 0 if there is none, or no context is current.
std::uint64_t buffer_id_at(const Driver& driver, std::uintptr_t pointer) noexcept;
/// The same on a thread that may have no context; makes `context` current during the query.
std::uint64_t buffer_id_at(const Context& context, std::uintptr_t pointer) noexcept;
/// The same for callers that need the reason: 0 only if there is no buffer.
///
/// Throws      DriverError if the driver can't say.
std::uint64_t require_buffer_id_at(const Context& context, std::uintptr_t pointer);

}  // namespace isthmus::window
