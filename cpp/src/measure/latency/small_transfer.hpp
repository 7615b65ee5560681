// The cost of transferring a few bytes in a program that launches kernels: three experiments, and
// their buffers, with a value in the first word and a pattern behind it.
//
// Their streams are those of cudaStreamCreate, as the experiments' were: how long a kernel and a
// small copy take also depends on whether the stream is ordered with the legacy default stream.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "host/memory/huge_mapping.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

/// Device memory, and pinned and pageable host memory as targets of its copies. Each copy may have
/// a place of its own: places lie kPlaceBytes apart, and a later copy overwrites everything but the
/// first words of earlier copies.
class SmallTransferBuffers {
public:
  using Word = std::uint32_t;
  /// A multiple of the maximum payload of a PCIe write, so that all places have the same alignment.
  static constexpr std::size_t kPlaceBytes = 256;

  /// Throws   UsageError unless the size is a multiple of 4 and there are places;
  /// OutOfDeviceMemory.
  SmallTransferBuffers(const Context& context, std::size_t size_bytes, std::size_t num_places,
                       std::optional<int> numa_node);

  CUdeviceptr device() const noexcept { return device_.pointer(); }
  std::byte* pageable() const noexcept { return pageable_.data(); }
  std::byte* pinned(std::size_t place = 0) const noexcept {
    return pinned_.data() + place * kPlaceBytes;
  }
  std::size_t size_bytes() const noexcept { return device_.size_bytes(); }

  /// The word at the beginning of a copy.
  static Word word_at(const std::byte* host);
  static void put_word(std::byte* host, Word word);

  /// Writes the pattern behind the device's first word, and something else everywhere else. Waits.
  void reset();
  /// The same, with the pattern in the first place of pinned memory and not on the device.
  void reset_for_upload();

  /// Throws   CorruptTransfer unless the values of `num_values` copies have the sum of 0, 1, 2,
  ///          ..., and the pattern is behind the first word of the last copy.
  void check(std::uint64_t sum, std::size_t num_values, const std::byte* last) const;

private:
  void poison_host() const;

  Context context_;
  host::PageableBuffer reference_;
  host::PageableBuffer pageable_;
  PinnedBuffer pinned_;
  DeviceBuffer device_;
};

/// Which clock times a whole loop.
enum class LoopClock { host, device };
constexpr auto words_of(LoopClock) { return std::array{"host", "device"}; }

struct SmallTransferOptions {
  std::size_t size_bytes = 4;        ///< a multiple of 4
  std::size_t num_iterations = 100;  ///< in one run
  std::optional<int> numa_node;      ///< of the host memory; empty: not bound
  /// Applies to runs: one sample is one run. With `relative_iqr` 0 all are taken.
  Stopping stopping;
};

/// Measures "a kernel sets a value, a copy brings it to the host" repeatedly, in two ways. Yields,
/// with one sample for each run:
///
///   blocking             seconds for one iteration: kernel, then cuMemcpyDtoH (cudaMemcpy) into
///                        ordinary memory, on the legacy default stream
///   async                the same: kernel, then cuMemcpyDtoHAsync into pinned memory, on one
///                        stream, with one wait after the last iteration
///   async_over_blocking  async divided by blocking, for each pair of runs; not in seconds
///
/// Iteration i copies the value i, with `async` to a place of its own. The values' sum is compared
/// with num_iterations * (num_iterations - 1) / 2 (4950 for 100), and the other bytes of the last
/// copy with those on the device.
///
/// clock     host: around all iterations of a run and the last wait. device: between two events
///           around them
/// kernels   null: Unavailable
/// Throws    UsageError (size, iterations), Unavailable, CorruptTransfer, DriverError.
Measurement measure_kernel_then_copy(const Context& context, const Kernels* kernels,
                                     LoopClock clock, const SmallTransferOptions& options);

/// Measures upload, light kernel, download, repeatedly on one stream in pinned memory, with a wait
/// after the kernel and after the download. Only the copies are timed, each between two events.
/// Yields, with one sample for each run:
///
///   upload               seconds for one cuMemcpyHtoDAsync
///   download             seconds for one cuMemcpyDtoHAsync
///   both_ways            their sum
///   download_over_upload download divided by upload; not in seconds
///
/// Iteration i sends the value ~i, the kernel inverts its bits, and i must come back: the values'
/// sum is compared (499500 for 1000), and the other bytes with those sent.
///
/// kernels   null: Unavailable
/// Throws    what measure_kernel_then_copy throws.
Measurement measure_copy_kernel_copy(const Context& context, const Kernels* kernels,
                                     const SmallTransferOptions& options);

}  // namespace isthmus::measure
