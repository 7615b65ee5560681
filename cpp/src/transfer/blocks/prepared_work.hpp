// Copies that were checked and planned, and can be made again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <isthmus/blocks.hpp>
#include <isthmus/transfer.hpp>

#include "device/buffers.hpp"
#include "device/link_copies.hpp"
#include "transfer/blocks/block_pools.hpp"
#include "transfer/blocks/block_ways.hpp"
#include "transfer/many/many_copies.hpp"
#include "transfer/movers/block_mover.hpp"
#include "transfer/plan/devices.hpp"

namespace isthmus::transfer {

/// What is made, in one of three ways. Immutable once it is made; may be run from any thread.
class PreparedWork {
public:
  PreparedWork(const Driver& driver, Devices& devices, ManyCopies& many)
      : driver_(driver), devices_(devices), many_(many) {}
  ~PreparedWork();
  PreparedWork(const PreparedWork&) = delete;
  PreparedWork& operator=(const PreparedWork&) = delete;

  /// Makes the copy in stream order.
  ///
  /// Returns     when it is complete; at once if it was recorded in a graph
  /// Throws      as PreparedCopy::run()
  std::shared_ptr<PendingCopy> run(CUstream stream) const;

  BlockWay told;
  Way way = Way::kernel;
  DevicePaths* device = nullptr;  ///< null: nothing to copy, or Way::staged
  BlockLaunch launch;
  std::vector<IsthmusBlocks> launches;  ///< of the kernels; also beside a batch, for captures
  std::size_t num_pieces = 0;           ///< of pieces between addresses
  std::optional<CopyBatch> batch;
  std::vector<ManyCopy> copies;                ///< of Way::staged
  std::vector<KnownBuffer> buffers;            ///< must still be the same
  std::optional<DeviceBuffer> kept;            ///< indices or pieces
  mutable std::unique_ptr<LaunchMemory> once;  ///< the same, for one run
  std::shared_ptr<IndexReport> report;         ///< of indices that only the kernel reads
  std::shared_ptr<const void> owner;           ///< keeps what this refers to

  /// Enqueues the launches or the batch. A context of the device is current.
  ///
  /// Throws      DriverError: nothing of the copy is running any more, or memory_in_use().
  void enqueue(CUstream stream, bool captured) const;

private:
  std::shared_ptr<PendingCopy> run_staged(CUstream stream) const;
  void require_same_memory() const;
  void enqueue_kept(CUstream stream, bool captured) const;

  const Driver& driver_;
  Devices& devices_;
  ManyCopies& many_;
};

}  // namespace isthmus::transfer
