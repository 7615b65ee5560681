// Copies between host and device, by the path that is cheapest on this machine.
//
//     isthmus::Transfers transfers(isthmus::Driver::open());
//     transfers.copy(device_pointer, host_pointer, size_bytes);
//
// The paths: CPU stores and loads through a window (small copies), the driver's own copy (pinned
// memory), a ring of pinned staging buffers that several threads fill (pageable memory), and
// pinning the pageable memory during the copy. The choice follows from a profile of this machine,
// or from defaults for its kind of link: explain() shows it.
//
// Completion and ordering.
//   copy() is complete when it returns: every reader of the target sees the bytes, and the source
//   may be reused. It begins after all work that was enqueued in `stream` before the call, and work
//   that is enqueued in any stream afterwards sees its bytes. With the legacy default stream (0) it
//   also begins after the work of all blocking streams, as with cudaMemcpy.
//   copy_async(): see there. While `stream` is being captured, both leave the copy to the driver,
//   which records it in the graph (or refuses pageable memory).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <isthmus/blocks.hpp>
#include <isthmus/driver.hpp>
#include <isthmus/window.hpp>

namespace isthmus {

namespace transfer {
struct Engine;
class KeptCopy;
class PendingCopy;
}  // namespace transfer

/// What kind of memory an address belongs to.
enum class MemoryKind {
  unknown,   ///< ask the driver
  pageable,  ///< host memory, unknown to CUDA
  pinned,    ///< host memory, page-locked by CUDA
  device,    ///< a GPU's memory
  managed,   ///< moves between host and device: only the driver's copy is used
  host,      ///< as a hint: host memory that may be touched; the driver says if it is pinned
};
ISTHMUS_API std::string_view name_of(MemoryKind kind) noexcept;

/// How a copy is made.
enum class CopyPath {
  window,          ///< CPU stores or loads through a mapping, by the calling thread
  window_threads,  ///< the same by several threads
  driver,          ///< the driver's copy, directly from source to target
  staged,          ///< through pinned buffers, filled or emptied by several threads
  /// Pins the host's pages during the copy. Used only when it is named: no other copy may use the
  /// same pages meanwhile.
  registered,
  /// One launch of a kernel for many small copies of one call: copy_many() chooses it, no caller
  /// names it.
  kernel,
};
ISTHMUS_API std::string_view name_of(CopyPath path) noexcept;

struct CopyOptions {
  /// A CUstream of the device's context: 0 legacy default, 1 the same, 2 per-thread default.
  std::uintptr_t stream = 0;
  /// What the caller knows about the two ends. This saves asking the driver what the memory is, and
  /// asking the kernel whether it can be touched: 0.5 to 1.5 us for memory that is neither in the
  /// stack nor in the heap and was not asked about in the last milliseconds. A wrong kind is
  /// undefined behaviour, except that `device` is checked: freed memory is refused, whatever lies
  /// there now.
  MemoryKind source_kind = MemoryKind::unknown;
  MemoryKind target_kind = MemoryKind::unknown;
  /// False: the caller guarantees that no pending work in any stream touches the bytes. Then no
  /// stream is asked or waited for, which saves small copies some 0.2 us.
  bool ordered = true;
  /// "" chooses the path. The name of a path forces that path: Unavailable with the reason if it
  /// isn't possible, UsageError if no path has that name.
  std::string_view path = {};
};

/// One of many copies that are made by one call.
struct ManyCopy {
  void* target = nullptr;
  const void* source = nullptr;
  std::size_t size_bytes = 0;
  CopyOptions options = {};
};

/// The type of an item, for copies that convert it.
enum class ItemType : std::uint8_t {
  bytes,    ///< no type
  boolean,  ///< one byte; all but 0 is true
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,   ///< IEEE 754's binary16
  bfloat16,  ///< the upper half of a float32
  float32,
  float64,
};

/// A copy of an array's items between two memory layouts: with gaps, in another order, or of another
/// type.
struct StridedCopy {
  void* target = nullptr;        ///< the first item
  const void* source = nullptr;  ///< the first item
  std::size_t item_bytes = 0;    ///< of one item; not used if the items are converted
  std::vector<std::size_t> shape;
  std::vector<std::ptrdiff_t> target_strides;  ///< in bytes, one for each dimension
  std::vector<std::ptrdiff_t> source_strides;
  /// Both or neither. If they differ, the device converts each item; the host's memory keeps its type, so that this
  /// is what crosses the link. Integers wrap around. A number that a float can't hold is rounded to
  /// the nearest, ties to even; too large ones become infinite. A float becomes an integer by
  /// dropping its fraction; beyond the integer's range it becomes the nearest integer, and NaN
  /// becomes 0.
  ItemType target_type = ItemType::bytes;
  ItemType source_type = ItemType::bytes;
};

/// What a path would cost.
struct PathCost {
  CopyPath path = CopyPath::driver;
  bool usable = false;
  double seconds = 0;        ///< predicted, if usable, of copies that follow each other
  double pause_seconds = 0;  ///< what a copy takes longer after a pause
  std::string reason;        ///< why it isn't usable; else what the figure is based on
};

/// How some of many copies would be made.
struct PathShare {
  CopyPath path = CopyPath::driver;
  std::size_t num_copies = 0;
  std::size_t size_bytes = 0;
  double seconds = 0;   ///< predicted, one after the other; without copies that cross no link
  bool by_cpu = false;  ///< between host memories, apart from the others: `path` isn't taken
};

/// How a copy would be made, and why.
struct CopyPlan {
  CopyPath path = CopyPath::driver;  ///< if copies follow each other
  /// After a pause, when helper threads sleep and caches are cold.
  CopyPath path_after_pause = CopyPath::driver;
  MemoryKind source = MemoryKind::unknown;
  MemoryKind target = MemoryKind::unknown;
  int device = -1;
  std::vector<PathCost> costs;  ///< of every path, in order of preference
  bool measured = false;        ///< false: conservative defaults, no profile of this machine
  std::string profile;  ///< where the figures come from: "profile of 2026-11-22", "defaults"
};

/// How one path was used since the Transfers were made.
struct PathUse {
  CopyPath path = CopyPath::driver;
  std::uint64_t num_copies = 0;
  std::uint64_t num_bytes = 0;
  double seconds = 0;            ///< of the calls
  double predicted_seconds = 0;  ///< of the same calls, by the profile, whatever copies took before
};

/// When the source of an asynchronous copy may be changed.
enum class SourceOrder {
  call,    ///< as soon as copy_async() has returned
  stream,  ///< once the copy is complete
};

/// A copy in progress. Movable; destroying it doesn't stop the copy.
class ISTHMUS_API CopyFuture {
public:
  CopyFuture() = default;
  /// Waits until the copy is complete. Throws the copy's error if it failed; the message says which
  /// bytes of the target are undefined. UsageError if an index of blocks was outside its pool.
  void wait();
  /// True once wait() would return or throw at once.
  bool ready() const;
  /// True once nothing uses the memory of the source or the target any more, so that both may be
  /// freed: the copy is complete, or it failed and is known to have stopped. If the driver can't
  /// say that after a failure, this stays false, and both must be kept until the process ends.
  bool over() const noexcept;
  /// Takes back a copy that hasn't begun: one that a thread is to make after the work in its
  /// stream. wait() then throws UsageError.
  ///
  /// Returns     false if the copy has begun, which doesn't disturb it, and always for many copies
  bool cancel() noexcept;
  /// The CUevent behind the copy in its stream, valid for the life of this object; 0 if no single
  /// event marks the end: the copy is complete, a thread makes it, or there are several streams.
  std::uintptr_t event() const;
  /// True if delay() is possible: a stream orders the copy, or it is complete.
  bool ordered() const;
  /// Makes later work in a stream, of any device, wait for the copy.
  ///
  /// stream      a CUstream
  /// Throws      Unavailable if a thread makes the copy: no stream knows when that ends.
  ///             DriverError.
  void delay(std::uintptr_t stream) const;

private:
  friend class Transfers;
  friend class PreparedCopy;
  friend class transfer::KeptCopy;
  ISTHMUS_HIDDEN explicit CopyFuture(std::shared_ptr<transfer::PendingCopy> pending);
  std::shared_ptr<transfer::PendingCopy> pending_;
};

/// Copies between the host and the devices of one driver. It has value semantics: copies share
/// windows, rings and statistics. May be used from any thread. In a forked child they copy only within
/// the host's memory, and have statistics of their own; whatever needs a device throws UsageError.
class ISTHMUS_API Transfers {
public:
  explicit Transfers(const Driver& driver);
  /// windows     to be used, with their settings
  explicit Transfers(Windows windows);

  /// Copies `size_bytes`, complete on return. See "Completion and ordering".
  ///
  /// target, source  any kind of memory, each inside one allocation; they must not overlap
  /// size_bytes      0 is allowed, and copies nothing
  /// Throws          UsageError: memory that is null, overlapping, freed, or shorter than
  ///                 `size_bytes`; host memory that can't be touched, or whose file has become too
  ///                 short; an unknown path. Unavailable: the named path isn't possible.
  ///                 OutOfDeviceMemory, DriverError: nothing has been copied, or the message says
  ///                 which bytes of the target are undefined; the Transfers stay usable. Both ends
  ///                 may be freed, unless DriverError::memory_in_use().
  /// If a thread copies to or from the same host memory again within one tick of the kernel's clock
  /// (1 to 10 ms), the memory isn't checked again: if it has been unmapped since, the copy faults
  /// as memcpy would. Mapped files are checked each time, and so is shared memory that has a
  /// descriptor. The first copy between two devices enables peer access between their primary
  /// contexts, both ways and for good, if it is possible.
  void copy(void* target, const void* source, std::size_t size_bytes,
            const CopyOptions& options = {});

  /// Begins a copy. Between pinned memory and a device the driver makes it, and the stream orders
  /// it before and after other work. From pageable memory with SourceOrder::call the function
  /// returns when the bytes are staged, and the stream orders the copy before and after other work.
  /// With SourceOrder::stream, and always to pageable memory, the copy begins after the work in the
  /// stream, but later work in the stream does not wait for it; wait() does. A path named in the
  /// options is always used: an upload with SourceOrder::call through a window or registered memory
  /// is complete on return; for all other copies only wait() waits. A small copy whose stream has no
  /// work is complete on return if a window makes it sooner than the driver would begin it.
  ///
  /// target, source  as for copy(); both stay valid until CopyFuture::over()
  /// Throws          as copy(); also Unavailable if the copy needs a thread and the system has
  ///                 none. Then the copy has not begun, and won't.
  CopyFuture copy_async(void* target, const void* source, std::size_t size_bytes,
                        const CopyOptions& options = {},
                        SourceOrder source_order = SourceOrder::call);

  /// Makes many copies, complete on return; each begins after the work in its own stream. Among
  /// themselves they have no order. Small ones between the host and a device are made together, by
  /// one launch of a kernel, if that is faster: this needs NVRTC, and compiles the kernel once.
  /// Longer ones of pageable memory share the staging ring, as if they were one copy.
  ///
  /// copies      no target overlaps another copy's target or source, unless both copies write the
  ///             same bytes from the same bytes: those are copied once
  /// Throws      as copy(). UsageError names the copy, counted from 0, and then nothing has been
  ///             copied: all copies are checked before the first begins. (Only a mapped file that
  ///             becomes shorter meanwhile is found out later.) After a DriverError all targets are
  ///             undefined. After any other error they are if it says so.
  void copy_many(std::span<const ManyCopy> copies);

  /// Begins many copies. To each applies what copy_async() says of it; the future is ready when all
  /// are complete.
  ///
  /// Throws      as copy_many() and copy_async(): then no copy of the call is running. Without a
  ///             thread for those that need one, none has begun.
  CopyFuture copy_many_async(std::span<const ManyCopy> copies,
                             SourceOrder source_order = SourceOrder::call);

  /// Copies blocks by index, in each layer. Between memories of devices and pinned memory a kernel
  /// or a copy engine makes it, in the order of the stream, and the call returns at once. It can be
  /// captured if its indices are on the device, or belong to a prepared copy: a graph reads them at
  /// each replay. Pageable memory goes through copy_many_async(), which the caller works for.
  ///
  /// copy        pools and indices on a device stay valid until CopyFuture::over(); indices on the
  ///             host may be changed on return. A target's block occurs once, unless it gets the same
  ///             source each time; a pool may be target and source, if no block is both. Indices on
  ///             the device aren't checked for that: then one of the sources remains.
  /// Throws      UsageError: wrong pools or indices, and then nothing was copied. An index on the
  ///             device that is outside its pool is skipped by the kernel. That is told once, by
  ///             a UsageError with its position: of CopyFuture::wait(), the next run of the same
  ///             PreparedCopy, or check_blocks(), whichever comes first. No other copy fails.
  ///             Unavailable, DriverError.
  CopyFuture copy_blocks(const BlockCopy& copy, const BlockOptions& options = {});
  /// Prepares copy_blocks() once for many runs; the stream of the options reads indices on a device
  /// only if the CPU needs them.
  PreparedCopy prepare_blocks(const BlockCopy& copy, const BlockOptions& options = {});
  /// Throws the UsageError of an index outside its pool that kernels have found and nobody was told
  /// of, such as those of graphs. Wait for the copies first, and call it until it throws nothing.
  void check_blocks();
  /// Copies pieces between addresses: like copy_blocks(), in one stream.
  ///
  /// pieces      may be changed on return. No target overlaps another piece: that isn't checked.
  CopyFuture copy_pieces(const CopyPieces& pieces, std::uintptr_t stream = 0);
  /// Prepares copy_many() for many runs, without the copies' own streams. Runs don't check again that
  /// the memory still exists.
  PreparedCopy prepare_many(std::span<const ManyCopy> copies);

  /// Copies an array's items between two layouts, complete on return, after the work in the stream.
  /// The driver copies rows, or slices of rows; a kernel copies everything else, and rows that are
  /// short, or items that are
  /// converted. Not counted in stats().
  ///
  /// copy        at least one end on a device, not two devices; the host's end has no gaps and is in
  ///             the shape's order. No two items of the target share memory.
  /// Throws      as copy(); UsageError for a copy of another kind; Unavailable if it needs the
  ///             kernel and there is no NVRTC, or no memory to pin for a pageable end, if the stream
  ///             is being captured, or if a path is named.
  void copy_strided(const StridedCopy& copy, const CopyOptions& options = {});

  /// Throws what copy_strided() would throw before it writes anything, except that it pins no
  /// memory: whether there is enough is found out by copying. Copies nothing.
  void check_strided(const StridedCopy& copy, const CopyOptions& options = {});

  /// For callers that pack or unpack host memory themselves: checks that the CPU may touch it.
  ///
  /// writes      false: only to read it
  /// Throws      UsageError if nothing is mapped there, it is protected, or its file ends before it
  ///             does.
  void check_host_memory(const void* memory, std::size_t size_bytes, bool writes);
  /// For the same callers: returns when the work that is now in a stream is complete.
  ///
  /// Throws      UsageError if the stream is being captured: packing would not be in the graph.
  ///             DriverError if any of that work failed.
  void wait_for_work(std::uintptr_t stream);

  /// Copies a part of a file to a device, complete on return, after all work now in the stream.
  /// What isn't in the page cache is read with direct I/O, where the file system allows it. Not
  /// counted in stats(): there is no choice of path, and the disk's time isn't predicted.
  ///
  /// target          a GPU's own memory
  /// descriptor      of a regular file, open for reading; its position doesn't change
  /// offset_bytes    in the file
  /// Throws          as copy(); also UsageError if the file ends before these bytes or becomes
  ///                 shorter while they are read, or if the stream is being captured: a graph can't
  ///                 read a file.
  void copy_file(void* target, int descriptor, std::uint64_t offset_bytes, std::size_t size_bytes,
                 const CopyOptions& options = {});

  /// Says how copy() would make the copy, and what each path would cost. Copies nothing.
  CopyPlan explain(const void* target, const void* source, std::size_t size_bytes,
                   const CopyOptions& options = {});

  /// Says how copy_many() would make the copies: one entry for each path that it would take, in
  /// the order of CopyPath. Copies nothing; may compile the kernel.
  ///
  /// Throws      as copy_many()
  std::vector<PathShare> explain_many(std::span<const ManyCopy> copies);

  std::vector<PathUse> stats() const;
  /// Closes the windows that copies have opened, and unpins staging buffers that no copy uses.
  void trim();
  /// Uses this machine's measured costs, given as the text of a file from `isthmus profile`.
  ///
  /// Throws      UsageError if the text isn't a profile, or is one of another device or driver.
  void use_profile(std::string_view json);
  /// Names the library that compiles the kernel of copy_many(): a path of libnvrtc.so.N. Without
  /// it, the dynamic linker searches. Call it before the first copy_many().
  void use_nvrtc(std::string library);
  Windows& windows() noexcept;
  const Driver& driver() const noexcept;

private:
  friend struct transfer::Engine;
  ISTHMUS_HIDDEN explicit Transfers(std::shared_ptr<transfer::Engine> engine);
  std::shared_ptr<transfer::Engine> engine_;
};

}  // namespace isthmus
