// Copies between pageable host memory and a device through pinned slots, at the link's speed.
#pragma once

#include <cstddef>
#include <memory>

#include "device/context.hpp"
#include "transfer/staging/host_copy.hpp"
#include "transfer/staging/ring_threads.hpp"

namespace isthmus::transfer {

class CopyMoments;
class SlotFiller;

/// All that was chosen by measuring. Source: benchmarks/transfer/ring_details.cpp.
struct RingSettings {
  int num_threads = 0;           ///< that move bytes, the caller's included; 0: as many as pay here
  int num_slots = 4;             ///< of slot_bytes; more, if pieces are shorter
  bool marks_by_events = false;  ///< even where the driver can do better: see CrossingMarks
  std::size_t slot_bytes = std::size_t{16} << 20U;  ///< the largest piece of a copy
  int upload_pieces = 4;    ///< that a copy has at least, so that the link begins early
  int download_pieces = 8;  ///< and the threads end early
  /// Of an upload's first piece and a download's last: see PiecePlan.
  std::size_t first_bytes = std::size_t{512} << 10U;
  double growth = 2;         ///< of pieces: see PlanLimits
  double long_growth = 1.5;  ///< of a copy that caches don't hold: threads are slower there
  std::size_t min_long_bytes = std::size_t{32} << 20U;  ///< of such a copy
  SlotStores stores = SlotStores::best;                 ///< of an upload
  /// What a thread copies of a piece at a time.
  std::size_t min_part_bytes = std::size_t{64} << 10U;
  std::size_t max_part_bytes = std::size_t{256} << 10U;
  /// What a SlotFiller is asked for at a time; less where that leaves threads without a slot.
  std::size_t filler_bytes = std::size_t{2} << 20U;
  /// Of a download that is stored past the caches.
  std::size_t min_streamed_bytes = std::size_t{32} << 20U;
  /// Of a target without pages, from which it gets huge ones.
  std::size_t min_huge_bytes = std::size_t{16} << 20U;
  CopyMoments* moments = nullptr;  ///< outlives the ring, if there is one: for benchmarks
  bool beyond_cores = false;  ///< takes num_threads even where there are fewer cores: for tests
};

/// When upload() returns.
enum class UploadEnd {
  complete,  ///< the bytes are in the target
  /// The source may be changed; `stream` waits for the rest. While the stream holds the copy back,
  /// it holds back later copies of the same ring too, in whatever stream; what the slots can't hold
  /// is waited for.
  staged,
};

/// Persistent threads on the device's NUMA node, and a few large slots that they fill and empty
/// together, each of which crosses the link at once. One copy at a time uses them; others wait
/// their turn. The threads spin briefly after a copy, then sleep: nothing runs when idle. May be
/// used from any thread; in a forked child copies and trim() throw UsageError. At the end of the
/// process what CUDA has torn down already is left alone.
class StagingRing {
public:
  /// Starts nothing and pins nothing yet: the first copy pins the slots, and each starts the
  /// threads that it needs.
  ///
  /// Throws      UsageError for settings that can't be.
  explicit StagingRing(const Context& context, const RingSettings& settings = {});
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  /// Copies host bytes to the device, after all work now in `stream`.
  ///
  /// source      host, readable, [size_bytes]; if it is file-backed and the file is truncated:
  ///             UsageError, not SIGBUS
  /// Throws      DriverError, OutOfDeviceMemory: the message names the bytes of the target that are
  ///             undefined (none are named if nothing was copied), and the ring is usable again.
  void upload(CUdeviceptr target, const std::byte* source, std::size_t size_bytes, CUstream stream,
              UploadEnd end = UploadEnd::complete);
  /// The same from a source that fills slots itself, in pieces of up to filler_bytes, by
  /// all threads, each in a slot of its own.
  ///
  /// source      lives until this returns
  /// Throws      what source.fill() throws, too; a UsageError then has the undefined bytes as well.
  void upload(CUdeviceptr target, const SlotFiller& source, std::size_t size_bytes, CUstream stream,
              UploadEnd end = UploadEnd::complete);

  /// Copies device bytes to the host, after all work now in `stream`; complete on return. Pages of
  /// the target that were never touched are made in parallel, huge where the kernel allows.
  ///
  /// target      host, writable, [size_bytes]
  /// Throws      as upload(); UsageError if it is a mapped file that is too short or read-only.
  void download(std::byte* target, CUdeviceptr source, std::size_t size_bytes, CUstream stream);

  /// Threads that copies may use, the caller's included.
  int num_threads() const noexcept;
  /// Threads that use_threads() can give them: as many as there are cores, from 8 cores on one
  /// less.
  int max_threads() const noexcept;
  /// From the next copies of memory on they take so many threads where they are long enough, at
  /// most max_threads(). Fresh targets take more if more pay there.
  void use_threads(const RingThreads& threads) noexcept;
  /// Ends the threads and unpins the slots; the next copy makes them again.
  void trim();
  std::size_t pinned_bytes() const noexcept;

private:
  struct WorkerPool;
  std::unique_ptr<WorkerPool> pool_;
};

}  // namespace isthmus::transfer
