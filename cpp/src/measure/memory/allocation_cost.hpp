// The cost of memory before the first byte is copied, and after the last: of allocations, and of
// the whole life of a host buffer, next to what it saves.
#pragma once

#include <vector>

#include "device/kernels.hpp"
#include "measure/loops/host_buffer.hpp"
#include "measure/loops/sampling.hpp"
#include "measure/memory/allocators.hpp"

namespace isthmus::measure {

/// Allocates through an allocator, checks that each call brought memory, and frees the rest when it
/// is destroyed. The caller holds a CurrentContext.
class LiveAllocations {
public:
  LiveAllocations(Allocator& allocator, std::size_t num_slots)
      : allocator_(allocator), live_(num_slots, false) {}
  ~LiveAllocations();
  LiveAllocations(const LiveAllocations&) = delete;
  LiveAllocations& operator=(const LiveAllocations&) = delete;

  /// Throws CorruptTransfer if the call succeeded without memory, and what the allocator throws.
  void allocate(std::size_t slot);
  void free(std::size_t slot);

  /// Allocates all slots at once, writes words of their own to both ends, and frees them.
  ///
  /// Throws      CorruptTransfer if one doesn't hold its words, or is known after its free.
  void verify();

private:
  void verify_words();
  void verify_free(std::size_t slot);

  Allocator& allocator_;
  std::vector<char> live_;
};

struct AllocationOptions {
  AllocationKind kind = AllocationKind::heap;
  Touch touch = Touch::untouched;
  std::size_t size_bytes = 0;  ///< of one allocation, at least 4
  std::size_t num_live = 1;    ///< allocated at a time, for "allocate_live" and "free_live"
  Stopping stopping;
  /// Allocations one at a time are copied to the device twice before they are freed. What the first
  /// copy takes longer is a part of "allocate": pages that were just pinned are new to the link. Only
  /// for memory that the CPU reaches.
  bool copied = false;
};

/// Measures allocations of one kind and size. Yields these metrics, in seconds by the CPU's clock
/// for one allocation:
///
///   allocate, free            one at a time, each freed before the next; for stream-ordered
///                             memory, until the stream has executed it
///   allocate_return,
///   free_return               for stream-ordered memory, until the call returns; otherwise waived
///   pair                      both, many times back to back, divided by their number; if copied,
///                             one at a time
///   allocate_live, free_live  `num_live` allocated, then all freed, divided by their number;
///                             waived if that is 1
///
/// The pages of touched memory are written as part of its allocation. For registered memory only
/// the registration is timed; if untouched, registering allocates its pages.
///
/// first_call_seconds is the first allocation of this kind and size. At the end `num_live` are
/// allocated once more: each must hold its own word at both ends, and the driver must not know any
/// of them after it was freed.
///
/// Throws      UsageError; Unavailable if this can't be allocated; OutOfDeviceMemory,
///             std::bad_alloc; CorruptTransfer if an allocation or a free didn't happen.
Measurement measure_allocation(const Context& context, const AllocationOptions& options);

struct MemoryLifeOptions {
  HostMemory memory = HostMemory::pageable;
  std::size_t size_bytes = 0;
  std::optional<int> numa_node;  ///< the node of the host pages
  Stopping stopping;             ///< applies to lives
};

/// Measures lives of host buffers. Each is allocated, written, copied to the device, overwritten,
/// copied back, and freed. Yields these metrics, in seconds by the CPU's clock:
///
///   allocate, free      including all pages
///   life_upload,
///   life_download       one blocking copy, until complete
///   life_one_way        allocate, upload and free
///   life_both_ways      the same and the download
///
/// Each life verifies the bytes of both directions. first_call_seconds is the first upload, which
/// is in no sample: the first life makes a second one. The last life looks up the pages' nodes.
///
/// kernels     null: prepared and verified from the host
/// Throws      UsageError, Unavailable, OutOfDeviceMemory, CorruptTransfer, DriverError.
Measurement measure_memory_life(const Context& context, const Kernels* kernels,
                                const MemoryLifeOptions& options);

}  // namespace isthmus::measure
