// The host's end of a copy: memory of one of the kinds that matter to the driver, and the bytes in
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "host/memory/huge_mapping.hpp"
#include "host/memory/pattern.hpp"
#include "transfer/pinned/pinned_region.hpp"

namespace isthmus::measure {

/// In which order a kernel goes through what it compares.
enum class ReadOrder {
  forward,       ///< from the beginning to the end
  random_pages,  ///< pages of 4 KiB in a fixed random order, each once: kernels/page_order.cuh
};

enum class Contents {
  random,  ///< the test pattern
  zeros,   ///< the best case for a link or a memory that compresses
};
constexpr auto words_of(Contents) { return std::array{"random", "zeros"}; }

/// The bytes of one pair of buffers; both sides hold the same.
class BufferContents {
public:
  /// Different pairs hold different random bytes, so that a copy from the wrong buffer is detected.
  explicit BufferContents(Contents kind);

  Contents kind() const noexcept { return kind_; }
  /// Writes the first `size_bytes` to `target`, which is host memory.
  void fill(std::byte* target, std::size_t size_bytes,
            host::FilledBy filled_by = host::FilledBy::many_threads) const;
  /// Counts differences, in words and trailing bytes.
  ///
  /// offset_bytes   where in the contents `source` begins; a multiple of 8
  std::uint64_t count_mismatches(const std::byte* source, std::size_t offset_bytes,
                                 std::size_t size_bytes) const;

  /// True if a kernel can write and compare the contents at that address: it works on words of 8
  /// bytes.
  bool kernels_can_check(CUdeviceptr address) const noexcept {
    return kind_ == Contents::random && address % 8 == 0;
  }
  /// Enqueues filling device memory. Requires kernels_can_check(); CurrentContext held.
  void fill_by_kernel(const Kernels& kernels, const Stream& stream, CUdeviceptr target,
                      std::size_t size_bytes) const;
  /// Enqueues counting the differences in device memory.
  ///
  /// verdict    device, [1], 8 bytes, 0 before; see mismatches_of()
  void check_by_kernel(const Kernels& kernels, const Stream& stream, CUdeviceptr source,
                       std::size_t size_bytes, CUdeviceptr verdict,
                       ReadOrder order = ReadOrder::forward) const;
  /// The number of mismatches in a verdict; the largest number if nothing was checked.
  static std::uint64_t mismatches_of(std::uint64_t verdict) noexcept;
  /// Like count_mismatches(), for device memory. Waits until it is complete.
  std::uint64_t count_by_kernel(const Kernels& kernels, const Stream& stream, CUdeviceptr source,
                                std::size_t size_bytes) const;

private:
  Contents kind_;
  std::uint64_t seed_;
};

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
