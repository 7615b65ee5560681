// Ways to get memory, each with its way back: what a program may call before and after it copies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "device/context.hpp"

namespace isthmus::measure {

/// In brackets what the CUDA runtime calls it.
enum class AllocationKind {
  heap,                 ///< malloc
  mapping,              ///< mmap, fresh pages each time
  pinned,               ///< cuMemHostAlloc (cudaMallocHost)
  write_combined,       ///< the same, past the CPU's caches (cudaHostAllocWriteCombined)
  registered,           ///< cuMemHostRegister of memory that is there (cudaHostRegister)
  huge_pinned,          ///< PinnedRegion: huge pages, touched by several threads, registered
  device,               ///< cuMemAlloc (cudaMalloc)
  pitched,              ///< cuMemAllocPitch, near square (cudaMallocPitch)
  pitched_3d,           ///< the same, near cubic (cudaMalloc3D)
  array,                ///< cuArrayCreate of floats, near square (cudaMallocArray)
  array_3d,             ///< cuArray3DCreate of floats, near cubic (cudaMalloc3DArray)
  managed,              ///< cuMemAllocManaged (cudaMallocManaged)
  stream_ordered,       ///< cuMemAllocAsync (cudaMallocAsync), from a pool that keeps nothing
  stream_ordered_kept,  ///< the same, from a pool that keeps what is freed
  virtual_memory,       ///< cuMemCreate, reserved addresses, cuMemMap, cuMemSetAccess
};

/// Whether the CPU writes to each page: as part of the allocation, or (of registered memory) before
/// it.
enum class Touch { untouched, touched };

/// An allocation's address, and the driver's number for it, which it never uses twice.
struct Identity {
  CUdeviceptr address = 0;
  std::uint64_t number = 0;
};

/// Gets memory of one kind and size, and gives it back: into numbered slots, so that several can be
/// alive. Of each slot, allocate() and free() follow each other in turn. The caller holds a
/// CurrentContext, frees what it allocated, and doesn't use it from two threads at once.
class Allocator {
public:
  virtual ~Allocator() = default;
  Allocator() = default;
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  /// Makes a free slot ready to be allocated; not part of any time. True if there was anything to
  /// do.
  virtual bool make_ready(std::size_t slot);
  /// Throws what the driver or the system refuses with; the slot is free then.
  virtual void allocate(std::size_t slot) = 0;
  virtual void free(std::size_t slot) = 0;
  /// Waits for what allocate() or free() left to a stream.
  virtual void finish() {}
  /// Whether finish() is more than nothing.
  virtual bool returns_early() const noexcept { return false; }

  /// Whether allocate() brought anything.
  virtual bool is_there(std::size_t slot) const = 0;
  /// Writes a word to both ends.
  virtual void write(std::size_t slot, std::uint32_t word) = 0;
  /// True if both ends hold it.
  virtual bool holds(std::size_t slot, std::uint32_t word) = 0;
  /// What the driver knows the slot's memory by; nothing where it has no such number.
  virtual std::optional<Identity> identity(std::size_t slot) const;
  /// Whether the driver knows it still.
  virtual bool known(const Identity& identity) const;
};

/// What is allocated, and how often at once.
struct AllocationShape {
  AllocationKind kind = AllocationKind::heap;
  Touch touch = Touch::untouched;
  std::size_t size_bytes = 0;
  std::size_t num_slots = 1;
};

/// "write-combined host memory".
const char* name_of(AllocationKind kind) noexcept;

/// Throws      UsageError (a size of 0, touching what the CPU can't reach, no slots), Unavailable
///             where the driver or the device hasn't got it, DriverError.
std::unique_ptr<Allocator> make_allocator(const Context& context, const AllocationShape& shape);

}  // namespace isthmus::measure
