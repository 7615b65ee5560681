// What buffers hold while they are copied: bytes that nothing can compress, or zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/kernels.hpp"
#include "host/memory/pattern.hpp"

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

}  // namespace isthmus::measure
