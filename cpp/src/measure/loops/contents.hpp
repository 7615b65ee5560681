// What buffers hold while they are copied: bytes that nothing can compress, or zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/kernels.hpp"

namespace isthmus::measure {

enum class Contents {
  random,  ///< the test pattern
  zeros,   ///< what a link or a memory that compresses would move fastest
};

/// The bytes of one pair of buffers, which are on either side what they are on the other.
class BufferContents {
public:
  /// Different pairs hold different random bytes, so that a copy from the wrong buffer can't pass.
  explicit BufferContents(Contents kind);

  Contents kind() const noexcept { return kind_; }
  /// Puts the first `size_bytes` there. `target` is host memory.
  void fill(std::byte* target, std::size_t size_bytes) const;
  /// Counts what differs, in words and trailing bytes.
  ///
  /// offset_bytes   where in the contents `source` begins; a multiple of 8
  std::uint64_t count_mismatches(const std::byte* source, std::size_t offset_bytes,
                                 std::size_t size_bytes) const;

  /// True if a kernel can write and compare them at that address: it works on words of 8 bytes.
  bool kernels_can_check(CUdeviceptr address) const noexcept {
    return kind_ == Contents::random && address % 8 == 0;
  }
  /// Enqueues filling device memory. Requires kernels_can_check(); CurrentContext held.
  void fill_by_kernel(const Kernels& kernels, const Stream& stream, CUdeviceptr target,
                      std::size_t size_bytes) const;
  /// Enqueues counting what differs in device memory.
  ///
  /// verdict    device, [1], of 8 bytes, 0 before; see mismatches_of()
  void check_by_kernel(const Kernels& kernels, const Stream& stream, CUdeviceptr source,
                       std::size_t size_bytes, CUdeviceptr verdict) const;
  /// The number that a verdict says; all of them, if nothing was checked.
  static std::uint64_t mismatches_of(std::uint64_t verdict) noexcept;
  /// The same as count_mismatches(), of device memory. Waits for it.
  std::uint64_t count_by_kernel(const Kernels& kernels, const Stream& stream, CUdeviceptr source,
                                std::size_t size_bytes) const;

private:
  Contents kind_;
  std::uint64_t seed_;
};

}  // namespace isthmus::measure
