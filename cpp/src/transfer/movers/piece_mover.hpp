// Moves many small pieces across the link in one launch of a kernel.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "transfer/movers/layouts.hpp"
#include "transfer/request/link_piece.hpp"
#include "transfer/request/task.hpp"
#include "transfer/staging/slot_crossing.hpp"

namespace isthmus::transfer {

/// The kernels of one device, and pinned memory in two halves: while one crosses the link, the host
/// works on the other. One call at a time uses the memory, and others wait their turn; move_items()
/// needs none. May be used from any thread. The device's primary context must be current.
class PieceMover {
public:
  explicit PieceMover(const Context& context);
  /// Waits for what is under way.
  ~PieceMover();
  PieceMover(const PieceMover&) = delete;
  PieceMover& operator=(const PieceMover&) = delete;

  /// Compiles the kernels at the first call.
  ///
  /// nvrtc       as Nvrtc::open() takes it
  /// Returns     why there are none, or no memory to pin; empty if they can be used. Final.
  /// Throws      std::bad_alloc: the next call tries again
  std::string obstacle(const std::string& nvrtc);
  /// The same for copies that convert items, whose kernel others don't need. Call it after
  /// obstacle(), if there was none.
  std::string conversion_obstacle();

  /// Enqueues an upload of all pieces. Returns when the sources of the staged ones are free.
  ///
  /// pieces      each of at most kMaxPieceBytes
  /// Throws      DriverError: no part of it is running, or memory_in_use().
  void upload(std::span<const LinkPiece> pieces, CUstream stream);
  /// The same for a download. Returns when the staged pieces are at their places; the direct ones
  /// are when the stream is.
  void download(std::span<const LinkPiece> pieces, CUstream stream);

  /// Some items of an array, in C order, and where its first item is at each end.
  struct ItemRange {
    std::uint64_t target = 0;
    std::uint64_t source = 0;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  /// Enqueues a copy between two layouts, of which the device reads and writes both ends, and whose
  /// items it may convert.
  ///
  /// Throws      DriverError: no part of it is running.
  void move_items(const Layouts& layouts, const ItemRange& range, CUstream stream) const;

  static constexpr std::size_t kMaxPieceBytes = std::size_t{256} << 10U;
  static constexpr unsigned kBlockLanes = 256;  ///< of each kernel's blocks

private:
  struct Entry;
  struct Half;
  struct Memory;
  struct Round;
  Round fill(Half& half, std::span<const LinkPiece> pieces, Direction direction) const;
  void launch(Half& half, const Round& round, CUstream stream);
  static void unpack(const Round& round);
  void require_memory() const;
  void leave_if_in_use(CUstream stream);
  void prepare(const std::string& nvrtc);
  Half& next_half();

  Context context_;
  std::mutex mutex_;
  bool prepared_ = false;
  std::string obstacle_;
  std::optional<Kernels> kernels_;
  std::optional<Kernel> kernel_;
  std::optional<Kernel> strided_kernel_;
  std::optional<Kernel> convert_kernel_;
  std::string conversion_obstacle_;
  std::unique_ptr<Memory> memory_;
};

/// How an array with gaps on a device crosses: slots hold the items in C order, without gaps; a
/// kernel moves them.
class ItemCrossing final : public SlotCrossing {
public:
  /// mover       its obstacle() is none; outlives this
  /// layouts     of whole words; outlives this
  /// device      the array's first item
  ItemCrossing(const PieceMover& mover, const Layouts& layouts, const void* device) noexcept
      : mover_(mover), layouts_(layouts), device_(reinterpret_cast<std::uint64_t>(device)) {}

  void enqueue(std::span<const LinkCopy> copies, CUstream stream) const override;

private:
  const PieceMover& mover_;
  const Layouts& layouts_;
  std::uint64_t device_;
};

}  // namespace isthmus::transfer
