// What a device pointer belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "device/context.hpp"
#include "driver/driver.hpp"

namespace isthmus::window {

/// Sees to it that a context is current: CUDA says nothing about pointers to a thread that has none
/// (CUDA_ERROR_INVALID_CONTEXT). Which context it is makes no difference to the answers.
class [[nodiscard]] AnyContext {
public:
  explicit AnyContext(const Driver& driver);

private:
  std::optional<Context> context_;
  std::optional<CurrentContext> current_;
};

/// One allocation of CUDA's, as the driver describes it.
struct Allocation {
  std::uintptr_t base = 0;
  std::size_t size_bytes = 0;
  std::uint64_t buffer_id = 0;  ///< unique for the life of the process, unlike an address
  int device = 0;
  CUcontext context = nullptr;  ///< null for memory of cuMemCreate and of pools
};

/// The allocations that [pointer, pointer + size_bytes) lies in, in order; more than one only for
/// adjacent mappings of cuMemMap.
///
/// Throws      UsageError, which names what the pointer is instead: null, host memory, managed
///             memory, not (or no longer) known to CUDA, shorter than asked.
std::vector<Allocation> allocations_of(const Driver& driver, std::uintptr_t pointer,
                                       std::size_t size_bytes);

/// True for memory of cuMemCreate, mapped by cuMemMap: what follows it may be the same array's. Not
/// for cudaMalloc's and pools'.
bool is_mapping(const Driver& driver, std::uintptr_t pointer);

/// The id of the buffer that is at `pointer` now; 0 if there is none, or no context is current.
std::uint64_t buffer_id_at(const Driver& driver, std::uintptr_t pointer) noexcept;
/// The same on a thread that may have no context; `context` is current for the question then.
std::uint64_t buffer_id_at(const Context& context, std::uintptr_t pointer) noexcept;
/// The same for those who have to know why there is none: 0 only if there is no buffer.
///
/// Throws      DriverError if the driver can't say.
std::uint64_t require_buffer_id_at(const Context& context, std::uintptr_t pointer);

}  // namespace isthmus::window
