// Many small copies at once, in each way that CUDA offers.
#pragma once

#include <array>
#include <cstddef>

#include "measure/loops/copy_buffers.hpp"
#include "measure/loops/samples.hpp"

namespace isthmus::measure {

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
