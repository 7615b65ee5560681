// Many small copies at once, in each way that CUDA offers: scattered in host memory and packed in
// device memory.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "device/link_copies.hpp"
#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/sampling.hpp"

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

enum class ManyCopiesWay {
  loop,    ///< cuMemcpyHtoDAsync / DtoHAsync for each piece
  batch,   ///< one cuMemcpyBatchAsync
  graph,   ///< one launch of a graph with a copy node for each piece, instantiated before
  kernel,  ///< one launch of a kernel that reads or writes mapped host memory
  packed,  ///< the CPU packs the pieces and one copy carries them; a download is unpacked
};
constexpr auto words_of(ManyCopiesWay) {
  return std::array{"loop", "batch", "graph", "kernel", "packed"};
}

struct ManyCopiesOptions {
  Direction direction = Direction::host_to_device;
  ManyCopiesWay way = ManyCopiesWay::loop;
  std::size_t piece_bytes = 0;  ///< a multiple of 4
  std::size_t num_pieces = 0;
  Stopping stopping;  ///< for both metrics together
};

/// Measures copies between pieces scattered in pinned host memory and one packed block of device
/// memory. Yields these metrics by the CPU's clock, in seconds for all pieces, both from each
/// sample:
///
///   api_return   until everything was enqueued; includes packing, not unpacking
///   completion   until all pieces have arrived at their places
///
/// There is no gate: the cost of enqueueing is what matters here.
///
/// buffers   pinned, piece_bytes * num_pieces or more; slots for the pieces are allocated besides
/// kernels   null: no kernel moves pieces, and they are verified on the host
/// Throws    UsageError (sizes, pageable memory), Unavailable (cuMemcpyBatchAsync before CUDA 12.8,
///           no kernels), CorruptTransfer, OutOfDeviceMemory, DriverError.
Measurement measure_many_copies(CopyBuffers& buffers, const Kernels* kernels,
                                const ManyCopiesOptions& options);

}  // namespace isthmus::measure
