// The host's end of a copy: memory of one of the kinds that matter to the driver.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include "device/buffers.hpp"
#include "host/memory/huge_mapping.hpp"
#include "transfer/pinned/pinned_region.hpp"

namespace isthmus::measure {

enum class HostMemory {
  pinned,          ///< cuMemHostAlloc (cudaMallocHost)
  pageable,        ///< an ordinary mapping, as malloc makes for large sizes
  registered,      ///< the same, touched and then registered (cudaHostRegister)
  write_combined,  ///< cuMemHostAlloc with write-combining, which bypasses the CPU's caches
  huge_pinned,     ///< huge pages, touched and then registered
};
constexpr auto words_of(HostMemory) {
  return std::array{"pinned", "pageable", "registered", "write_combined", "huge_pinned"};
}

/// "write-combined".
const char* name_of(HostMemory memory) noexcept;

/// Ordinary memory that is pinned for the lifetime of this object. Movable.
class RegisteredBuffer {
public:
  /// The pages are touched first, under the calling thread's memory policy.
  ///
  /// Throws   UsageError (size), std::system_error, Unavailable, DriverError.
  RegisteredBuffer(const Context& context, std::size_t size_bytes);

  std::byte* data() const noexcept { return pages_.data(); }
  std::size_t size_bytes() const noexcept { return pages_.size_bytes(); }

private:
  host::PageableBuffer pages_;  // before its registration, so that it is destroyed after it
  Owned<void*> registration_;
};

/// Host memory of any of the kinds, with its pages allocated. Movable.
class HostBuffer {
public:
  /// numa_node   the node of the pages; empty: by the calling thread's policy
  /// Throws      UsageError (size), OutOfDeviceMemory, std::system_error, DriverError; Unavailable
  ///             if the kernel provides no huge pages.
  HostBuffer(const Context& context, HostMemory memory, std::size_t size_bytes,
             std::optional<int> numa_node);

  HostMemory memory() const noexcept { return memory_; }
  std::byte* data() const noexcept;
  /// Copies out of it, with loads that are fast for this kind of memory.
  ///
  /// target   host, [size_bytes]
  void read(std::byte* target, std::size_t offset_bytes, std::size_t size_bytes) const;
  /// The address at which kernels see its first byte. Throws UsageError for pageable memory.
  CUdeviceptr device_pointer(const Context& context) const;

private:
  using Held =
      std::variant<PinnedBuffer, host::PageableBuffer, RegisteredBuffer, transfer::PinnedRegion>;
  static Held allocate(const Context& context, HostMemory memory, std::size_t size_bytes,
                       std::optional<int> numa_node);

  HostMemory memory_;
  Held held_;
};

}  // namespace isthmus::measure
