// Copies of many blocks by index, and copies that are prepared once and made many times: see
// Transfers::copy_blocks(), prepare_blocks() and prepare_many() in isthmus/transfer.hpp.
//
//     const isthmus::BlockPool target{device_pool, num_blocks, 4096};
//     const isthmus::BlockPool source{pinned_pool, num_blocks, 4096};
//     transfers.copy_blocks({{&target, 1}, {&source, 1}, 4096, target_index, source_index, 1000});
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <isthmus/export.h>

namespace isthmus {

namespace transfer {
class PreparedWork;
}  // namespace transfer

/// Memory in blocks of one size.
struct BlockPool {
  void* address = nullptr;  ///< of block 0; of a source it isn't written
  std::size_t count = 0;    ///< blocks
  /// From one block to the next; 0: the size of a block. At least that, in a pool of several blocks.
  std::size_t stride_bytes = 0;
};

/// Indices of blocks, in host memory or on the device that makes the copy.
struct BlockIndex {
  BlockIndex() = default;
  BlockIndex(const std::int32_t* indices) : data(indices), item_bytes(4) {}
  BlockIndex(const std::int64_t* indices) : data(indices), item_bytes(8) {}

  const void* data = nullptr;
  std::size_t item_bytes = 8;
};

/// A copy of block source_index[i] to block target_index[i], for each i, in each layer.
struct BlockCopy {
  std::span<const BlockPool> targets;  ///< one for each layer
  std::span<const BlockPool> sources;  ///< the same number
  std::size_t block_bytes = 0;
  BlockIndex target_index;
  BlockIndex source_index;
  std::size_t num_blocks = 0;  ///< of each index
};

/// Copies between addresses, in arrays.
struct CopyPieces {
  const std::uint64_t* targets = nullptr;  ///< addresses, [num_pieces]
  const std::uint64_t* sources = nullptr;
  const std::uint64_t* sizes = nullptr;  ///< in bytes; 0 is allowed
  std::size_t num_pieces = 0;
};

enum class BlockPriority {
  bulk,
  /// Its kernel gets multiprocessors before kernels of ordinary priority, and no copy engine is
  /// used, whose queue it would wait in.
  urgent,
};

struct BlockOptions {
  /// A CUstream of the device that makes the copy: the target's, if the target is on a device.
  std::uintptr_t stream = 0;
  int num_multiprocessors = 0;  ///< the most that it uses; 0: as few as reach the link's speed
  BlockPriority priority = BlockPriority::bulk;
  /// False: a prepared copy doesn't ask the driver at each run whether pools were freed since, which
  /// takes 0.3 us for each. The caller guarantees that they weren't.
  bool checks_memory = true;
  /// "" chooses the way. "kernel", "batch" or "staged" forces it: Unavailable with the reason if it isn't possible.
  std::string_view way = {};
};

/// How a prepared copy is made, and why.
struct BlockWay {
  std::string_view way;  ///< "kernel", "batch", "staged"
  std::string reason;
  std::size_t num_copies = 0;  ///< blocks of all layers, or pieces
  std::size_t size_bytes = 0;
  int num_multiprocessors = 0;  ///< 0: none
  double seconds = 0;           ///< predicted; 0: not predicted
};

class CopyFuture;

/// A copy whose memory is checked, and whose indices are kept, so that making it once more costs
/// little more than a launch. It has value semantics: copies share it. May be used from any thread.
/// The memory of the pools, and indices on the device, must stay valid as long as it is run.
class ISTHMUS_API PreparedCopy {
public:
  PreparedCopy() = default;
  /// Makes the copy in stream order: see Transfers::copy_blocks(). While the stream is captured, the
  /// copy is recorded; this object must then live as long as the graph.
  ///
  /// stream      a CUstream of the device that makes the copy
  /// Throws      UsageError: a pool was freed since, or the stream is captured and the copy can't be.
  ///             DriverError.
  CopyFuture run(std::uintptr_t stream = 0) const;
  BlockWay explain() const;

private:
  friend class Transfers;
  ISTHMUS_HIDDEN explicit PreparedCopy(std::shared_ptr<const transfer::PreparedWork> work);
  std::shared_ptr<const transfer::PreparedWork> work_;
};

}  // namespace isthmus
