// Small pieces, scattered in host memory and packed in device memory.
#pragma once

#include <vector>

#include "device/link_copies.hpp"
#include "measure/loops/copy_buffers.hpp"

namespace isthmus::measure {

/// Pieces of one size. Each has its own slot in pinned host memory, in another order than on the
/// device and with gaps between the slots, so that no two copies can be merged.
///
/// The pattern comes from CopyBuffers: its device side is the packed block, and the CPU packs into
/// its host side. The caller holds a CurrentContext. Not for use by two threads at once.
class ScatteredPieces {
public:
  /// buffers       pinned, [piece_bytes * num_pieces]
  /// piece_bytes   a multiple of 4
  /// num_pieces    > 0
  /// Throws        UsageError; OutOfDeviceMemory if the host can't pin so much.
  ScatteredPieces(CopyBuffers& buffers, std::size_t piece_bytes, std::size_t num_pieces);

  std::size_t piece_bytes() const noexcept { return piece_bytes_; }
  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  std::size_t num_pieces() const noexcept { return num_pieces_; }
  std::size_t slot_step() const noexcept { return slot_step_; }
  std::size_t total_bytes() const noexcept { return piece_bytes_ * num_pieces_; }

  CopyBuffers& buffers() const noexcept { return buffers_; }
  std::byte* slot(std::size_t piece) const noexcept {
    return slots_.data() + piece * slot_step_ % num_pieces_ * slot_bytes_;
  }
  /// The address at which kernels see the first slot.
  CUdeviceptr slots_on_device() const { return slots_.device_pointer(); }
  /// A copy for each piece, in the device's order.
  std::vector<LinkCopy> copies(Direction direction) const;

  /// Copies all slots' bytes into the host side of the buffers, in the device's order.
  void pack() const;
  /// The reverse: copies them back into the slots.
  void unpack() const;

  /// Makes the sources hold the pattern.
  void prepare(const Kernels* kernels);
  /// Overwrites the target, and any buffer between it and the source.
  void poison(Direction direction);
  /// Throws CorruptTransfer unless every piece has arrived.
  VerifiedOn verify(Direction direction, const Kernels* kernels);

private:
  CopyBuffers& buffers_;
  std::size_t piece_bytes_;
  std::size_t slot_bytes_;
  std::size_t num_pieces_;
  std::size_t slot_step_;
  PinnedBuffer slots_;
};

}  // namespace isthmus::measure
