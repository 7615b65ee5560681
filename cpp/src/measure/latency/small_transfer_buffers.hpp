// The buffers of the small-transfer experiments: a value in the first word, a pattern behind it.
#pragma once

#include <cstdint>
#include <optional>

#include "device/buffers.hpp"
#include "host/memory/huge_mapping.hpp"

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

}  // namespace isthmus::measure
