// One copy between host and device, by whichever way is cheapest on this machine.
//
//     isthmus::Transfers transfers(isthmus::Driver::open());
//     transfers.copy(device_pointer, host_pointer, size_bytes);
//
// The ways: CPU stores and loads through a window (small copies), the driver's own copy (pinned
// memory), a ring of pinned staging buffers that several threads fill (pageable memory), and
// pinning the pageable memory for the time of the copy. Which one is taken follows from a profile
// of this machine, or from the defaults of its kind of link: explain() tells.
//
// Completion and ordering.
//   copy() is complete when it returns: the bytes are in the target, whoever looks, and the source
//   may be reused. It begins after all work enqueued in `stream` before the call, and what is
//   enqueued in any stream afterwards sees it. With the legacy default stream (0) that includes the
//   work of all blocking streams, as with cudaMemcpy.
//   copy_async(): see there. While `stream` is being captured both go to the driver, which records
//   the copy in the graph (or refuses pageable memory, as it does).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <isthmus/driver.hpp>
#include <isthmus/window.hpp>

namespace isthmus {

namespace transfer {
struct Engine;
class PendingCopy;
}  // namespace transfer

/// What an address belongs to.
enum class MemoryKind {
  unknown,   ///< ask the driver
  pageable,  ///< the host's, not known to CUDA
  pinned,    ///< the host's, page-locked by CUDA
  device,    ///< a GPU's
  managed,   ///< moves between both: only the driver's copy is used
  host,      ///< as a hint: the host's, and it may be touched; the driver says if it is pinned
};
ISTHMUS_API std::string_view name_of(MemoryKind kind) noexcept;

/// A way for bytes to cross.
enum class CopyPath {
  window,          ///< CPU stores or loads through a mapping, by the calling thread
  window_threads,  ///< the same by several threads
  driver,          ///< the driver's copy, from or to where the bytes are
  staged,          ///< through pinned buffers, filled or emptied by several threads
  /// Pins the host's pages for the time of the copy. Taken only by its name: no other copy may use
  /// the same pages meanwhile.
  registered,
};
ISTHMUS_API std::string_view name_of(CopyPath path) noexcept;

struct CopyOptions {
  /// A CUstream of the device's context: 0 legacy default, 1 the same, 2 per-thread default.
  std::uintptr_t stream = 0;
  /// What the caller knows of the two ends, which saves asking the driver, and the kernel whether
  /// the memory can be touched: 0.5 to 1.5 us for what is neither in the stack nor in the heap, nor
  /// was asked about some milliseconds ago. Wrong answers are undefined behaviour, but `device` is
  /// checked: memory that was freed is refused then, whatever lies there by now.
  MemoryKind source_kind = MemoryKind::unknown;
  MemoryKind target_kind = MemoryKind::unknown;
  /// False: the caller has seen to it that nothing pending in any stream touches the bytes. No
  /// stream is asked or waited for then, which saves small copies some 0.2 us.
  bool ordered = true;
  /// "" chooses. A path's name takes that one, or throws Unavailable with the reason it can't;
  /// UsageError if no path has that name.
  std::string_view path = {};
};

/// What a path would cost.
struct PathCost {
  CopyPath path = CopyPath::driver;
  bool usable = false;
  double seconds = 0;  ///< predicted, if usable
  std::string reason;  ///< why not usable; else what the figure rests on
};

/// How a copy would be made, and why.
struct CopyPlan {
  CopyPath path = CopyPath::driver;
  MemoryKind source = MemoryKind::unknown;
  MemoryKind target = MemoryKind::unknown;
  int device = -1;
  std::vector<PathCost> costs;  ///< of every path, in the order in which they are preferred
  bool measured = false;        ///< false: conservative defaults, no profile of this machine
  std::string profile;  ///< where the figures come from: "profile of 2026-11-22", "defaults"
};

/// One path's use since the Transfers were made.
struct PathUse {
  CopyPath path = CopyPath::driver;
  std::uint64_t num_copies = 0;
  std::uint64_t num_bytes = 0;
  double seconds = 0;            ///< of the calls
  double predicted_seconds = 0;  ///< of the same calls
};

/// When the source of an asynchronous copy may be changed.
enum class SourceOrder {
  call,    ///< as soon as copy_async() has returned
  stream,  ///< once the copy is complete
};

/// A copy under way. Movable; letting it go doesn't stop it.
class ISTHMUS_API CopyFuture {
public:
  CopyFuture() = default;
  /// Waits until the copy is complete. Throws what it failed with; which bytes of the target are
  /// undefined then is in the message.
  void wait();
  /// True once wait() would return or throw at once.
  bool ready() const;
  /// True once nothing uses the memory of the source and of the target any more, so that both may
  /// be freed: the copy is complete, or has failed and is known to be at rest. Where the driver
  /// can't say that after a failure it stays false, and both must be kept until the process ends.
  bool over() const noexcept;

private:
  friend class Transfers;
  ISTHMUS_HIDDEN explicit CopyFuture(std::shared_ptr<transfer::PendingCopy> pending);
  std::shared_ptr<transfer::PendingCopy> pending_;
};

/// Copies between the memories of one driver's devices and the host. A value: copies share windows,
/// rings and statistics. May be used from any thread. In a forked child every member throws
/// UsageError.
class ISTHMUS_API Transfers {
public:
  explicit Transfers(const Driver& driver);
  /// windows     with their own settings
  explicit Transfers(Windows windows);

  /// Copies `size_bytes`, complete on return. See "Completion and ordering".
  ///
  /// target, source  of any kind, each inside one allocation; they must not overlap
  /// size_bytes      0 is allowed, and copies nothing
  /// Throws          UsageError: null, overlapping, freed, or longer than the allocation; the
  ///                 host's memory can't be touched, or its file has become too short; a path that
  ///                 isn't one. Unavailable: the path that was asked for can't.
  ///                 OutOfDeviceMemory, DriverError: nothing has been copied, or the message says
  ///                 which bytes of the target are undefined; the Transfers stay usable. Both ends
  ///                 may be freed, unless DriverError::memory_in_use().
  /// The host's memory that one thread copies to or from again within the same tick of the kernel's
  /// clock (1 to 10 ms) isn't looked at again: if it was unmapped since, the copy is the fault that
  /// memcpy would be. Mapped files and shared memory are looked at each time.
  void copy(void* target, const void* source, std::size_t size_bytes,
            const CopyOptions& options = {});

  /// Begins a copy. Between pinned memory and a device it is the driver's: the stream orders it
  /// both ways. From pageable memory with SourceOrder::call it returns when the bytes are staged,
  /// and the stream orders it both ways; with SourceOrder::stream, and always to pageable memory,
  /// it begins after what is in the stream, but later work in the stream does not wait: wait()
  /// does. A path that is named is taken: by a window or registered memory an upload with
  /// SourceOrder::call is complete on return, all else waits for wait() alone.
  ///
  /// target, source  as of copy(); both stay valid until CopyFuture::over()
  /// Throws          as copy(); Unavailable too if it takes a thread and the system has none. The
  ///                 copy has not begun then, and won't.
  CopyFuture copy_async(void* target, const void* source, std::size_t size_bytes,
                        const CopyOptions& options = {},
                        SourceOrder source_order = SourceOrder::call);

  /// Copies a part of a file to a device, complete on return, after all work now in the stream.
  /// What isn't in the page cache is read past it, where the file system allows. Not in stats():
  /// there is no choice, and what a disk takes isn't predicted.
  ///
  /// target          a GPU's own memory
  /// descriptor      of a regular file, open for reading; its position is left alone
  /// offset_bytes    in the file
  /// Throws          as copy(); UsageError too if the file ends before these bytes, or while they
  ///                 are read, or the stream is being captured: a graph can't read a file.
  void copy_file(void* target, int descriptor, std::uint64_t offset_bytes, std::size_t size_bytes,
                 const CopyOptions& options = {});

  /// Says how copy() would do it, and what each way would cost. Copies nothing.
  CopyPlan explain(const void* target, const void* source, std::size_t size_bytes,
                   const CopyOptions& options = {});

  std::vector<PathUse> stats() const;
  /// Closes the windows that copies have opened, and unpins staging buffers that no copy uses.
  void trim();
  /// Uses this machine's measured costs, in the text of `isthmus profile`'s file.
  ///
  /// Throws      UsageError if it isn't such a text, or of another device or driver.
  void use_profile(std::string_view json);
  Windows& windows() noexcept;
  const Driver& driver() const noexcept;

private:
  std::shared_ptr<transfer::Engine> engine_;
};

}  // namespace isthmus
