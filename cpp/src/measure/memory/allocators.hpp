// Ways to allocate and free memory: what a program may call before and after it copies.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "device/context.hpp"

namespace isthmus::measure {

/// The CUDA runtime's names are in brackets.
enum class AllocationKind {
  heap,                 ///< malloc
  mapping,              ///< mmap, fresh pages each time
  pinned,               ///< cuMemHostAlloc (cudaMallocHost)
  write_combined,       ///< the same, bypassing the CPU's caches (cudaHostAllocWriteCombined)
  registered,           ///< cuMemHostRegister of existing memory (cudaHostRegister)
  registered_heap,      ///< the same of malloc's memory; one at a time: short ones share pages
  huge_pinned,          ///< PinnedRegion: huge pages, touched by several threads, registered
  pooled,               ///< PinnedPool, when it has the memory already
  device,               ///< cuMemAlloc (cudaMalloc)
  pitched,              ///< cuMemAllocPitch, near square (cudaMallocPitch)
  pitched_3d,           ///< the same, near cubic (cudaMalloc3D)
  array,                ///< cuArrayCreate of floats, near square (cudaMallocArray)
  array_3d,             ///< cuArray3DCreate of floats, near cubic (cudaMalloc3DArray)
  managed,              ///< cuMemAllocManaged (cudaMallocManaged)
  stream_ordered,       ///< cuMemAllocAsync (cudaMallocAsync), pool without a cache
  stream_ordered_kept,  ///< the same, from a pool that keeps freed memory
  virtual_memory,       ///< cuMemCreate, reserved addresses, cuMemMap, cuMemSetAccess
};
constexpr auto words_of(AllocationKind) {
  return std::array{"heap",          "mapping",         "pinned",         "write_combined",
                    "registered",    "registered_heap", "huge_pinned",    "pooled",
                    "device",        "pitched",         "pitched_3d",     "array",
                    "array_3d",      "managed",         "stream_ordered", "stream_ordered_kept",
                    "virtual_memory"};
}

/// Whether the CPU writes to each page: as part of the allocation or, for registered memory, before
/// it.
enum class Touch { untouched, touched };
constexpr auto words_of(Touch) { return std::array{"untouched", "touched"}; }

/// An allocation's address, and the driver's ID for it, which is never reused.
struct Identity {
  CUdeviceptr address = 0;
  std::uint64_t number = 0;
};

/// Allocates memory of one kind and size, and frees it. Each allocation is in a numbered slot, so
/// that several can be alive; for each slot, calls of allocate() and free() alternate. The caller
/// holds a CurrentContext, frees what it allocated, and doesn't use this from two threads at once.
class Allocator {
public:
  virtual ~Allocator() = default;
  Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  /// Prepares a free slot for allocate(); not timed. Returns true if there was anything to do.
  virtual bool make_ready(std::size_t slot);
  /// Throws the driver's or the system's error; then the slot is free.
  virtual void allocate(std::size_t slot) = 0;
  virtual void free(std::size_t slot) = 0;
  /// Waits for work that allocate() or free() left on a stream.
  virtual void finish() {}
  /// Whether finish() does anything.
  virtual bool returns_early() const noexcept { return false; }

  /// The address for the CPU of the slot's memory; null if it has none.
  virtual const void* host(std::size_t slot) const;
  /// Whether allocate() brought memory.
  virtual bool is_there(std::size_t slot) const = 0;
  /// Writes a word to both ends.
  virtual void write(std::size_t slot, std::uint32_t word) = 0;
  /// True if both ends hold the word.
  virtual bool holds(std::size_t slot, std::uint32_t word) = 0;
  /// The driver's identity of the slot's memory; empty if it has none.
  virtual std::optional<Identity> identity(std::size_t slot) const;
  /// Whether the driver still knows it.
  virtual bool known(const Identity& identity) const;
};

/// What is allocated, and how many at once.
struct AllocationShape {
  AllocationKind kind = AllocationKind::heap;
  Touch touch = Touch::untouched;
  std::size_t size_bytes = 0;
  std::size_t num_slots = 1;
};

/// Whether the CPU may read and write such memory.
bool cpu_reaches(AllocationKind kind) noexcept;
/// "write-combined host memory".
const char* name_of(AllocationKind kind) noexcept;

/// Throws      UsageError (a size of 0, touching memory that the CPU can't access, no slots),
///             Unavailable if the driver or the device lacks it, DriverError.
std::unique_ptr<Allocator> make_allocator(const Context& context, const AllocationShape& shape);

}  // namespace isthmus::measure
