// Windows: CPU mappings of GPU memory. A fenced store through a window costs 0.1 to 0.2 us; a
// blocking copy costs 7 to 11.
//
// Ordering and completion, for every backend (tested on a device in cpp/tests/window):
//
//   after write() has returned    the bytes are on their way: the link delivers them before
//                                 anything that this thread later stores through a window or
//                                 launches.
//     a kernel or copy            that this thread starts afterwards reads the new bytes.
//     a kernel that is running    sees the new bytes soon, with volatile loads or acquire loads of
//                                 system scope; bytes of one write() may appear in any order.
//                                 write() the data, then write() a flag: a kernel that sees the
//                                 flag and then executes __threadfence_system() sees the data.
//   after post() has returned     the only promise is that the bytes leave no later than the next
//                                 fence() or write() of this thread.
//   read()                        returns what device memory held at some time during the call.
//     after a kernel or copy      that the CPU has waited for (event, stream, context): its bytes.
//     while a kernel runs         what it wrote before a flag, with __threadfence_system() in
//                                 between, is seen by a read() that follows the read() that saw
//                                 the flag.
//     after this thread's writes  through the same window: those bytes.
//
// Blocking copies of the CUDA API may return before their bytes have landed (pageable uploads do).
// A window sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS on its buffer, which makes such copies complete.
// Memory from cuMemCreate refuses the attribute: wait for a stream there before reading.
//
// Lifetime. A window keeps the pages it maps, not the pointer: memory that cudaFree frees while a
// window is open stays allocated on the device until the window is closed. (The gdrdrv driver
// unmaps it instead; touching it then is a bus error.) A window never shows another CUDA buffer:
// opening checks the buffer's id, not its address. Memory may later belong to another buffer (small
// buffers share pieces of memory, pools reuse it, memory from cuMemCreate can be mapped elsewhere);
// then every call checks again: see BufferCheck. Freeing a buffer during a call on its window is a
// race, as with a copy. Reuse by a caching allocator above CUDA (PyTorch, RMM) is not detected:
// keep the array alive as long as its window. The SYNC_MEMOPS attribute stays set after closing. A
// window does not survive fork(): in the child every call throws UsageError, and the parent's
// window is not affected.
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

/// The ways to map GPU memory, in the order in which they are tried.
enum class WindowBackend {
  dmabuf,  ///< cuMemGetHandleForAddressRange and mmap: CUDA 13.3 or later, and the emulated driver
  gdrdrv,  ///< GDRCopy's kernel module
  rm,      ///< a client of NVIDIA's resource manager: no module, no root; a private interface
};
ISTHMUS_API std::string_view name_of(WindowBackend backend) noexcept;

/// When a window checks that its buffer has not been freed.
enum class BufferCheck {
  shared_pages,  ///< at each call, if its memory may later belong to another buffer; else only on
                 ///< opening
  each_call,     ///< at each call: about 0.1 us more
  on_opening,    ///< only on opening: the caller promises to close the window before freeing the
                 ///< buffer
};

struct WindowOptions {
  /// The most threads that one write() or read() may use, including the caller's. The others start
  /// with the first window that needs them, spin for 20 us ($ISTHMUS_SPIN_US) after their last job,
  /// then sleep.
  int num_threads = 1;
  BufferCheck check = BufferCheck::shared_pages;
  /// The mapping begins and ends at multiples of this device address: a power of two from 4096 to 2
  /// MiB. GDRCopy uses 65536.
  std::size_t page_bytes = 4096;
};

/// A CPU mapping of [pointer, pointer + size_bytes) on a GPU. Movable; the destructor closes it.
///
/// write, post and read of one window may run in several threads at once; bytes that two of them
/// touch at once are undefined, as with memcpy. close() must not run beside them.
/// Throws      (every member that takes an offset) UsageError if the window is closed or belongs to
///             the parent process, if the range is not inside it, or if its buffer was freed (see
///             BufferCheck). Then nothing has been copied. Zero bytes are allowed.
class ISTHMUS_API Window {
public:
  Window(Window&&) noexcept;
  Window& operator=(Window&&) noexcept;
  ~Window();

  /// Copies host bytes to the device and fences. See "Ordering" above for who sees them when.
  ///
  /// source      host, readable, [size_bytes], any alignment; may be reused when this returns. Bytes of
  ///             a mapped file that has become shorter raise SIGBUS.
  void write(std::size_t offset_bytes, const void* source, std::size_t size_bytes);
  /// The same without the fence, only by the calling thread: several posts may share one fence().
  void post(std::size_t offset_bytes, const void* source, std::size_t size_bytes);
  /// Orders this thread's posts, on all windows, before what it does next.
  static void fence() noexcept;
  /// Copies device bytes to the host. Complete when it returns; not ordered with streams:
  /// "Ordering" above says which bytes it is sure to see.
  ///
  /// target      host, writable, [size_bytes], any alignment
  void read(void* target, std::size_t offset_bytes, std::size_t size_bytes) const;

  /// Unmaps, unless another window shares the mapping. Does not fence posts: call fence() before.
  /// Closing twice, and closing in a forked child, are allowed.
  void close() noexcept;
  bool is_open() const noexcept { return data_ != nullptr; }
  /// False once CUDA has freed the buffer, even if its address belongs to a new one. May run beside
  /// copies.
  ///
  /// Throws      UsageError if the window is closed or belongs to the parent process.
  bool buffer_is_alive() const;

  std::size_t size_bytes() const noexcept { return size_bytes_; }
  std::uintptr_t device_pointer() const noexcept { return device_pointer_; }
  /// The mapping itself, write-combined: for the caller's own stores and flags. Null when closed.
  /// Each load costs a round trip of the link.
  std::byte* data() const noexcept { return data_; }
  /// Everything that is mapped: whole pages around the window. Touch only your own bytes.
  std::byte* mapped_data() const noexcept;
  std::uintptr_t mapped_device_pointer() const noexcept;
  std::size_t mapped_bytes() const noexcept;

  WindowBackend backend() const noexcept;
  /// The instructions that the window copies with: "avx512".
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

/// How windows are opened: set by ISTHMUS_WINDOW and ISTHMUS_WINDOW_BAR1_MIB, or by the program.
struct WindowSettings {
  /// "" tries all; "dmabuf", "gdrdrv" or "rm" only that one; "off" none.
  std::string backend = {};
  /// The most bytes of one GPU's BAR1 that windows may map at a time, counted in pages of the size
  /// that windows ask for; 0: half of BAR1, or no limit if its size is unknown.
  std::uint64_t bar1_limit_bytes = 0;

  /// Throws      UsageError if a variable has an invalid value.
  ISTHMUS_API static WindowSettings from_environment();
};

/// What one backend reported when it was tried.
struct WindowBackendReport {
  WindowBackend backend = WindowBackend::dmabuf;
  bool usable = false;
  std::string reason;  ///< why it isn't usable; else a description: "driver 580.159.04, tested"
};

/// Whether windows can be opened on one kind of device memory.
struct WindowMemoryReport {
  std::string memory;  ///< how it is allocated: "cudaMallocAsync"
  bool usable = false;
  std::string
      reason;  ///< why there are none; else how it is found: "found by its IPC handle (...)"
};

/// A step in making or closing mappings.
struct WindowStep {
  std::uint64_t count = 0;  ///< how often it was made
  double seconds = 0;       ///< the total time of all of these, by the CPU clock
};

/// What mapping has cost. A window that shares a mapping adds nothing.
struct WindowCosts {
  /// Getting a reference to the memory. dmabuf: exporting it; gdrdrv: PIN_BUFFER; rm: finding the
  /// memory object, and duplicating or importing it.
  WindowStep pin;
  /// Mapping it. dmabuf: mmap, and closing the exported file; gdrdrv: mmap; rm: the resource
  /// manager's mapping, and mmap.
  WindowStep map;
  /// Undoing `map`.
  WindowStep unmap;
  /// Releasing the reference. gdrdrv: UNPIN_BUFFER; rm: freeing the reference. dmabuf never has
  /// this step: the mapping itself is the last reference.
  WindowStep unpin;
};

/// Opens windows on one driver's devices. It has value semantics: copies share backends, cache and
/// BAR1 limit. May be used from any thread.
class ISTHMUS_API Windows {
public:
  explicit Windows(const Driver& driver,
                   WindowSettings settings = WindowSettings::from_environment());

  /// Maps device memory, or shares the mapping of an open window that covers it.
  ///
  /// The first window on a device tries the backends and tests the chosen one, in both directions,
  /// on memory of its own. For each new mapping, both ends are compared with what the copy engine
  /// reads (that proves little where both are zero, and nothing where a kernel keeps changing
  /// them). It waits for no stream but its own. (If CUDA_DEVICE_MAX_CONNECTIONS says so, all
  /// streams may share a queue with that one.) May be called while kernels run and while streams
  /// are captured.
  ///
  /// pointer     device, from cudaMalloc, PyTorch, CuPy, RMM or cuMemCreate; any offset.
  ///             memory_kinds() says on which memory windows can be opened here
  /// size_bytes  > 0, inside one allocation (or adjacent mappings of cuMemMap)
  /// Throws      UsageError if the memory is host or managed memory, freed, null, zero bytes or too
  ///             long; Unavailable if windows are off, no backend is usable (with each one's
  ///             reason), the mapping shows other bytes than the device has, or BAR1 is used up;
  ///             DriverError if a CUDA call fails. Nothing is kept then. UsageError also in a child
  ///             process that was forked after these Windows were made.
  Window open(std::uintptr_t pointer, std::size_t size_bytes, const WindowOptions& options = {});

  /// Tries the backends on one device and returns each one's report.
  std::vector<WindowBackendReport> backends(int device);
  /// Allocates device memory of each kind, a few MiB, and opens a window on it. Freeing it waits for
  /// the device's work.
  ///
  /// Throws      Unavailable if windows are off or no backend is usable.
  std::vector<WindowMemoryReport> memory_kinds(int device);
  /// Bytes of the device's BAR1 that windows now map, and the limit.
  std::uint64_t mapped_bytes(int device) const;
  /// 0 for no limit.
  std::uint64_t bar1_limit_bytes(int device) const;
  /// What a user should be told once, such as an untested driver version; empties the list.
  std::vector<std::string> take_notices();
  /// What the mappings behind all windows so far have cost; the numbers only grow. A mapping counts
  /// once its bytes have been compared with the device's: refused mappings and the self-test's
  /// never count. Adjacent mappings of cuMemMap count each step once for every piece. While other
  /// threads open or close windows, only some of their steps may be counted yet.
  ///
  /// Throws      UsageError in a child process that was forked after these Windows were made.
  WindowCosts costs() const;
  const Driver& driver() const noexcept;

private:
  friend struct window::Registry;
  ISTHMUS_HIDDEN explicit Windows(std::shared_ptr<window::Registry> registry);

  std::shared_ptr<window::Registry> registry_;
};

}  // namespace isthmus
