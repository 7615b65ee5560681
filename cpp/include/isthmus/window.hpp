// Windows: CPU mappings of GPU memory. A fenced store through one costs 0.1 to 0.2 us where a
// blocking copy costs 7 to 11.
//
// Ordering and completion, for every backend (tested on a device in cpp/tests/window):
//
//   after write() has returned    the bytes are on their way in order: the link delivers them
//                                 before anything this thread stores through a window, or
//                                 launches, later.
//     a kernel or copy started    by this thread afterwards reads the new bytes.
//     a kernel that is running    sees the new bytes soon, with volatile or acquire loads of
//                                 system scope; bytes of one write() may appear in any order.
//                                 write() the data, then write() a flag: who sees the flag (and
//                                 then passes __threadfence_system()) sees the data.
//   after post() has returned     nothing is promised but that the bytes leave at the latest
//                                 with the next fence() or write() of this thread.
//   read()                        returns what device memory held at some time during the call.
//     after a kernel or copy      that the CPU has waited for (event, stream, context): its bytes.
//     of a running kernel         what it wrote before a flag, with __threadfence_system() in
//                                 between, is seen by a read() that follows the read() that saw
//                                 the flag.
//     of bytes that this thread   wrote through the same window: those bytes.
//
// Blocking copies of the CUDA API may return before their bytes have landed (pageable uploads do).
// A window sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS on its buffer, which makes them complete; for
// memory that refuses the attribute (cuMemCreate) wait for a stream before reading.
//
// Lifetime. A window keeps the pages it maps, not the pointer: what cudaFree frees while a window
// is open stays allocated on the device until the window is closed (backend gdrdrv: is unmapped
// instead, and touching it is a bus error, which is that driver's rule). A window never shows
// another buffer of CUDA's: opening looks at the buffer's id, not its address, and where the same
// memory may become another buffer's (small buffers share pieces of memory, pools give it out
// again, cuMemCreate's can be mapped elsewhere) every call looks again: see BufferCheck. To free a
// buffer beside a call on its window is a race, as with a copy. What a caching allocator above CUDA
// (PyTorch, RMM) gives out again is not seen: keep the array for as long as its window. The
// SYNC_MEMOPS attribute stays set after closing. A window does not survive fork(): in the child
// every call throws UsageError, and the parent's is untouched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <isthmus/driver.hpp>

namespace isthmus {

namespace window {
class Mapping;
struct StreamingCopy;
class CopyThreads;
struct Registry;
}  // namespace window

/// The way a window reaches GPU memory, in the order they are tried.
enum class WindowBackend {
  dmabuf,  ///< cuMemGetHandleForAddressRange and mmap: CUDA 13.3 or later, and the emulated driver
  gdrdrv,  ///< GDRCopy's kernel module
  rm,      ///< an own client of NVIDIA's resource manager: no module, no root; a private interface
};
ISTHMUS_API std::string_view name_of(WindowBackend backend) noexcept;

/// When a window makes sure that its buffer has not been freed.
enum class BufferCheck {
  shared_pages,  ///< each call, if its memory may become another buffer's; else only on opening
  each_call,     ///< each call: about 0.1 us more
  on_opening,    ///< never again: the caller promises to close the window before freeing the buffer
};

struct WindowOptions {
  /// The most threads that one write() or read() may use, the caller's included. Others are started
  /// with the first window that wants them, spin for 50 us after their last work, then sleep.
  int num_threads = 1;
  BufferCheck check = BufferCheck::shared_pages;
  /// What is mapped begins and ends at multiples of this device address: a power of two from 4096
  /// to 2 MiB. GDRCopy's rule is 65536.
  std::size_t page_bytes = 4096;
};

/// A CPU mapping of [pointer, pointer + size_bytes) on a GPU. Movable; closed when it goes.
///
/// write, post and read of one window may run in several threads at once; bytes that two of them
/// touch at once are undefined, as with memcpy. close() must not run beside them.
/// Throws      of every member that takes an offset: UsageError if the window is closed, belongs to
///             the process this one was forked from, the range is not inside it, or (BufferCheck)
///             its buffer was freed. Nothing has been copied then. Zero bytes are allowed.
class ISTHMUS_API Window {
public:
  Window(Window&&) noexcept;
  Window& operator=(Window&&) noexcept;
  ~Window();

  /// Copies host bytes to the device and fences. See "Ordering" above for who sees them when.
  ///
  /// source      host, readable, [size_bytes], any alignment; may be reused when this returns
  void write(std::size_t offset_bytes, const void* source, std::size_t size_bytes);
  /// The same without the fence, by the calling thread alone: several posts may share one fence().
  void post(std::size_t offset_bytes, const void* source, std::size_t size_bytes);
  /// Orders this thread's posts, on all windows, before what it does next.
  static void fence() noexcept;
  /// Copies device bytes to the host. Complete when it returns; outside the order of streams: see
  /// "Ordering" above for what it is sure to see.
  ///
  /// target      host, writable, [size_bytes], any alignment
  void read(void* target, std::size_t offset_bytes, std::size_t size_bytes) const;

  /// Unmaps, unless another window shares the mapping. Promises nothing of posts: fence() before.
  /// Closing twice, and in a forked child, is allowed.
  void close() noexcept;
  bool is_open() const noexcept { return data_ != nullptr; }
  /// False once CUDA has freed the buffer (or given its address to another). May run beside copies.
  ///
  /// Throws      UsageError if the window is closed or belongs to the process this one was forked
  ///             from.
  bool buffer_is_alive() const;

  std::size_t size_bytes() const noexcept { return size_bytes_; }
  std::uintptr_t device_pointer() const noexcept { return device_pointer_; }
  /// The mapping itself, write-combined: for own stores and for flags. Null when closed. Loads cost
  /// a round trip of the link each.
  std::byte* data() const noexcept { return data_; }
  /// All that is mapped: whole pages around the window. Touch only what is yours.
  std::byte* mapped_data() const noexcept;
  std::uintptr_t mapped_device_pointer() const noexcept;
  std::size_t mapped_bytes() const noexcept;

  WindowBackend backend() const noexcept;
  /// The instructions it copies with: "avx512".
  std::string_view instructions() const noexcept;

private:
  friend class Windows;
  ISTHMUS_HIDDEN Window(std::shared_ptr<const window::Mapping> mapping,
                        std::shared_ptr<window::CopyThreads> threads, std::uintptr_t pointer,
                        std::size_t size_bytes, const WindowOptions& options);
  ISTHMUS_HIDDEN void admit(std::size_t offset_bytes, std::size_t size_bytes) const;
  ISTHMUS_HIDDEN void refuse(std::size_t offset_bytes, std::size_t size_bytes) const;

  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  const window::StreamingCopy* copy_ = nullptr;
  std::uint64_t process_ = 0;  ///< the generation of the process that opened it: see forks.hpp
  bool checks_each_call_ = false;
  int num_threads_ = 1;
  std::uintptr_t device_pointer_ = 0;
  std::shared_ptr<const window::Mapping> mapping_;
  std::shared_ptr<window::CopyThreads> threads_;
};

/// How windows are opened: what ISTHMUS_WINDOW and ISTHMUS_WINDOW_BAR1_MIB say, or the program.
struct WindowSettings {
  /// "" tries all; "dmabuf", "gdrdrv" or "rm" only that one; "off" none.
  std::string backend = {};
  /// Most bytes of one GPU's BAR1 that windows may map at a time, in the pages that windows ask
  /// for; 0: half of BAR1, or no limit where its size is not known.
  std::uint64_t bar1_limit_bytes = 0;

  /// Throws      UsageError if a variable has a value that isn't one of these.
  ISTHMUS_API static WindowSettings from_environment();
};

/// What one backend said when it was asked.
struct WindowBackendReport {
  WindowBackend backend = WindowBackend::dmabuf;
  bool usable = false;
  std::string reason;  ///< why not, or what it is: "driver 580.159.04, tested"
};

/// A step in the lives of mappings.
struct WindowStep {
  std::uint64_t count = 0;  ///< how often it was taken
  double seconds = 0;       ///< how long all of these took together, by the CPU clock
};

/// What mapping has cost. Windows that share a mapping add nothing to it.
struct WindowCosts {
  /// Taking hold of the memory. dmabuf: exporting it; gdrdrv: PIN_BUFFER; rm: finding the memory
  /// object, and a reference to it (duplicated or imported).
  WindowStep pin;
  /// Mapping it. dmabuf: mmap, and closing the exported file; gdrdrv: mmap; rm: the resource
  /// manager's mapping, and mmap.
  WindowStep map;
  /// Undoing that.
  WindowStep unmap;
  /// Letting go of the memory. gdrdrv: UNPIN_BUFFER; rm: freeing the reference. dmabuf never takes
  /// this step: its mapping is the last that holds the memory.
  WindowStep unpin;
};

/// Opens windows on one driver's devices. A value: copies share backends, cache and budget. May be
/// used from any thread.
class ISTHMUS_API Windows {
public:
  explicit Windows(const Driver& driver,
                   WindowSettings settings = WindowSettings::from_environment());

  /// Maps device memory, or shares the mapping of an open window that covers it.
  ///
  /// The first window on a device tries the backends and tests the one it takes, in both
  /// directions, on memory of its own. Of each new mapping both ends are compared with what the
  /// copy engine reads (that proves little where both are zero, and nothing where a kernel keeps
  /// changing them). Waits for no stream but its own, which all streams may share a queue with if
  /// CUDA_DEVICE_MAX_CONNECTIONS says so; may be called while kernels run and while streams are
  /// captured.
  ///
  /// pointer     device, from cudaMalloc, PyTorch, CuPy, RMM or (exportable) cuMemCreate; any
  ///             offset
  /// size_bytes  > 0, inside one allocation (or adjacent mappings of cuMemMap)
  /// Throws      UsageError if that is host or managed memory, freed, null, zero bytes or too long;
  ///             Unavailable if windows are off, no backend can (with each one's reason), the
  ///             mapping shows other bytes than the device has, or BAR1 is used up; DriverError if
  ///             a call of CUDA's fails. Nothing is kept then. UsageError also in a child forked
  ///             off after these Windows were made.
  Window open(std::uintptr_t pointer, std::size_t size_bytes, const WindowOptions& options = {});

  /// Tries the backends on one device and says what each said.
  std::vector<WindowBackendReport> backends(int device);
  /// Bytes of the device's BAR1 that windows now map, and the limit.
  std::uint64_t mapped_bytes(int device) const;
  /// 0 for no limit.
  std::uint64_t bar1_limit_bytes(int device) const;
  /// What a user should be told once, such as an untested driver version; empties the list.
  std::vector<std::string> take_notices();
  /// What the mappings behind all windows so far have cost; the numbers only grow. A mapping counts
  /// once it has been compared with the device's bytes: one that was refused, and the self-test's,
  /// never do. Adjacent mappings of cuMemMap take each step once for every piece. Of openings and
  /// closings in other threads meanwhile, some steps may be in and some not.
  ///
  /// Throws      UsageError in a child forked off after these Windows were made.
  WindowCosts costs() const;
  const Driver& driver() const noexcept;

private:
  friend struct window::Registry;
  ISTHMUS_HIDDEN explicit Windows(std::shared_ptr<window::Registry> registry);

  std::shared_ptr<window::Registry> registry_;
};

}  // namespace isthmus
