// Copies of many blocks by index, scattered at both ends.
#pragma once

#include <array>
#include <cstddef>

#include "device/context.hpp"
#include "device/kernels.hpp"
#include "measure/loops/sampling.hpp"

namespace isthmus::measure {

enum class BlockCopiesWay {
  kernel,          ///< loads and stores, on few multiprocessors
  batch,           ///< cuMemcpyBatchAsync, source order ANY
  batch_in_order,  ///< the same with source order STREAM
};
constexpr auto words_of(BlockCopiesWay) { return std::array{"kernel", "batch", "batch_in_order"}; }

struct BlockCopiesOptions {
  Direction direction = Direction::host_to_device;
  BlockCopiesWay way = BlockCopiesWay::kernel;
  std::size_t block_bytes = 0;  ///< a multiple of 16
  std::size_t num_blocks = 0;
  int num_multiprocessors = 4;  ///< of the kernels
  Stopping stopping;            ///< for both metrics together
};

/// Measures copies of blocks between a pool in pinned memory and one in the device's, each with twice
/// as many blocks as are copied, in another random order. Indices are on the device, or in the
/// batch's arguments, which are made before. Yields by the CPU's clock, in seconds for all blocks:
///
///   api_return   until everything was enqueued
///   completion   until all blocks have arrived
///
/// There is no gate: the cost of enqueueing is what matters here.
///
/// kernels      nullptr: only the batch can be measured
/// Throws       UsageError (sizes), Unavailable (no kernels, a driver before CUDA 12.8), CorruptTransfer, OutOfDeviceMemory, DriverError.
Measurement measure_block_copies(const Context& context, const Kernels* kernels,
                                 const BlockCopiesOptions& options);

}  // namespace isthmus::measure
