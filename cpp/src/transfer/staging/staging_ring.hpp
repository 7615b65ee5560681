// Copies between pageable host memory and a device through pinned slots, at the link's speed.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "device/context.hpp"
#include "transfer/profile/profile.hpp"
#include "transfer/request/link_piece.hpp"

namespace isthmus::transfer {

class CopyMoments;
class SlotCrossing;
class SlotFiller;

/// Settings that were chosen by measurement. Source: benchmarks/transfer/h100/ring_stores.json,
/// ring_hot.json, ring_growth.json and ring_limits_stores.json there.
struct RingSettings {
  int num_threads = 0;           ///< threads that copy, including the caller's; 0: as many as pay
                                 ///< on this machine
  int num_slots = 4;             ///< of slot_bytes each; more slots if pieces are shorter
                                 ///< and the copy may take them all
  bool marks_by_events = false;  ///< use events even if the driver has something better: see
                                 ///< CrossingMarks
  std::size_t slot_bytes = std::size_t{16} << 20U;  ///< the largest piece of a copy
  int download_pieces = 8;  ///< at least so many per download, so that the threads finish early
  /// The first piece of an upload and the last of a download: see PiecePlan.
  std::size_t first_bytes = std::size_t{512} << 10U;
  /// More than the cores' own caches hold. From this size on, threads are slower; downloads are
  /// stored past the caches, uploads are demoted, and take few slots after a pause.
  std::size_t min_long_bytes = std::size_t{32} << 20U;
  /// How much of a piece one thread copies at a time.
  std::size_t min_part_bytes = std::size_t{64} << 10U;
  std::size_t max_part_bytes = std::size_t{256} << 10U;
  /// How much a SlotFiller is asked for at a time; less if threads would have no slot otherwise.
  std::size_t filler_bytes = std::size_t{2} << 20U;
  /// Targets without pages get huge pages from this size on, as NumPy asks for them.
  std::size_t min_huge_bytes = std::size_t{4} << 20U;
  CopyMoments* moments = nullptr;  ///< outlives the ring, if there is one: for benchmarks
  bool beyond_cores = false;       ///< uses num_threads even if there are fewer cores: for tests
};

/// When upload() returns.
enum class UploadEnd {
  complete,  ///< the bytes are in the target
  /// The source may be changed; `stream` waits for the rest. While the stream delays the copy, it
  /// also delays later copies of the same ring, in any stream. The call waits for what the slots
  /// can't hold.
  staged,
};

/// Persistent threads on the device's NUMA node, and a few large slots that they fill and empty
/// together; each slot crosses the link as soon as it is full. One copy at a time uses them; others
/// wait their turn. The threads spin briefly after a copy, then sleep: nothing runs when idle. May
/// be used from any thread; in a forked child copies and trim() throw UsageError. At the end of the
/// process, the ring doesn't touch what CUDA has already torn down.
class StagingRing {
public:
  /// Starts and pins nothing yet: the first copy pins the slots, and each copy starts the threads
  /// that it needs.
  ///
  /// Throws      UsageError for invalid settings.
  explicit StagingRing(const Context& context, const RingSettings& settings = {});
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  /// Copies host bytes to the device, after all work now in `stream`.
  ///
  /// source      host, readable, [size_bytes]; if it is file-backed and the file is truncated:
  ///             UsageError, not SIGBUS
  /// Throws      DriverError, OutOfDeviceMemory: the message names the undefined bytes of the
  ///             target (none if nothing was copied), and the ring is usable again.
  void upload(CUdeviceptr target, const std::byte* source, std::size_t size_bytes, CUstream stream,
              UploadEnd end = UploadEnd::complete);
  /// The same from a source that fills slots itself, in pieces of up to filler_bytes; all threads
  /// work, each in its own slot.
  ///
  /// source      must live until this returns
  /// Throws      also what source.fill() throws; a UsageError then names the undefined bytes as
  ///             well.
  void upload(CUdeviceptr target, const SlotFiller& source, std::size_t size_bytes, CUstream stream,
              UploadEnd end = UploadEnd::complete);

  /// Copies device bytes to the host, after all work now in `stream`; complete on return. Untouched
  /// pages of the target are faulted in parallel, as huge pages if the kernel allows.
  ///
  /// target      host, writable, [size_bytes]
  /// Throws      as upload(); UsageError if it is a mapped file that is too short or read-only.
  void download(std::byte* target, CUdeviceptr source, std::size_t size_bytes, CUstream stream);

  /// Copy many ranges as one copy: they share pieces, slots and threads. Each fragment of a range in
  /// a piece is a copy of the device.
  ///
  /// pieces      none of 0 bytes; the targets don't overlap each other
  /// Throws      as for one range, but the message says that all bytes of the targets are
  ///             undefined: any of them may be.
  void upload(std::span<const LinkPiece> pieces, CUstream stream,
              UploadEnd end = UploadEnd::complete);
  void download(std::span<const LinkPiece> pieces, CUstream stream);

  /// Copy memory whose other end isn't contiguous on the device; complete on return.
  ///
  /// crossing    moves the bytes of slots; must live until this returns
  /// Throws      as for one range, but the message says that all items of the target are undefined.
  void upload(const SlotCrossing& crossing, const std::byte* source, std::size_t size_bytes,
              CUstream stream);
  void download(std::byte* target, const SlotCrossing& crossing, std::size_t size_bytes,
                CUstream stream);

  /// The most threads that a copy may use, including the caller's.
  int num_threads() const noexcept;
  /// The most threads that use_threads() can set: the number of cores; from 8 cores on, one less.
  int max_threads() const noexcept;
  /// Of these, how many a copy of this size can have.
  int max_threads_of(std::size_t size_bytes) const noexcept;
  /// Sets the number of threads for the next memory copies that are long enough, at most
  /// max_threads(). Downloads to fresh memory use more if that pays.
  void use_threads(const RingThreads& threads) noexcept;
  /// Ends the threads and unpins the slots; the next copy makes them again.
  void trim();
  std::size_t pinned_bytes() const noexcept;

private:
  struct WorkerPool;
  std::unique_ptr<WorkerPool> pool_;
};

}  // namespace isthmus::transfer
