// Copies of blocks by index, and prepared ones: what is asked is checked, and a way chosen.
#pragma once

#include <memory>
#include <span>

#include <isthmus/blocks.hpp>
#include <isthmus/transfer.hpp>

#include "transfer/blocks/block_indices.hpp"
#include "transfer/blocks/prepared_work.hpp"

namespace isthmus::transfer {

/// May be used from any thread.
class BlockCopies {
public:
  BlockCopies(const Driver& driver, const HostMemory& host_memory, Devices& devices,
              ManyCopies& many, Carriers& carriers)
      : driver_(driver),
        host_memory_(host_memory),
        devices_(devices),
        many_(many),
        carriers_(carriers) {}

  /// How long what is prepared is used.
  enum class Uses {
    many,
    once,  ///< one run; indices on the host lie in memory of the BlockMover's
  };
  /// As Transfers::prepare_blocks().
  std::shared_ptr<PreparedWork> prepare(const BlockCopy& copy, const BlockOptions& options,
                                        Uses uses);
  /// As Transfers::prepare_many().
  std::shared_ptr<PreparedWork> prepare(std::span<const ManyCopy> copies);
  /// Pieces of which none overlaps another's target.
  std::shared_ptr<PreparedWork> prepare(const CopyPieces& pieces, Uses uses);
  /// Makes short copies between pinned memory and one device, as most lists of them are: they need
  /// no plan each.
  ///
  /// Returns     true: complete. False, with nothing done: they must be examined
  /// Throws      DriverError: all targets are undefined.
  bool copy_short(std::span<const ManyCopy> copies);
  /// As Transfers::check_blocks().
  void check();

private:
  struct Chosen;
  std::shared_ptr<PreparedWork> fresh() const {
    return std::make_shared<PreparedWork>(driver_, devices_, many_);
  }
  bool take_pieces(PreparedWork& work, const CopyPieces& pieces, Uses uses);
  DevicePaths* find_device(const CheckedPools& pools, Chosen& chosen);
  void place_indices(PreparedWork& work, const BlockCopy& copy, const CheckedPools& pools,
                     CUstream stream, Uses uses, Chosen& chosen);
  std::uint32_t use_on_device(PreparedWork& work, const BlockCopy& copy, const BlockIndex& index,
                              const MemoryRange& range, const char* role) const;
  static IsthmusBlocks with_read(PreparedWork& work, const CheckedPools& pools, Uses uses,
                                 const Chosen& chosen);
  void read_indices(const BlockCopy& copy, const CheckedPools& pools, CUstream stream,
                    Chosen& chosen);
  void choose(PreparedWork& work, const CheckedPools& pools, const BlockOptions& options,
              Chosen& chosen);
  std::string obstacle(Way way, const PreparedWork& work, const Chosen& chosen) const;

  const Driver& driver_;
  const HostMemory& host_memory_;
  Devices& devices_;
  ManyCopies& many_;
  Carriers& carriers_;
};

/// Puts what a kernel reads into device memory, for as long as the work lives; complete on return.
/// A context of the device is current.
///
/// Returns     its address
/// Throws      OutOfDeviceMemory, DriverError.
std::uint64_t keep_on_device(PreparedWork& work, std::span<const std::byte> bytes);

}  // namespace isthmus::transfer
