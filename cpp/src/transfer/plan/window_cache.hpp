// Windows that copies have opened, kept while copies use them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <isthmus/window.hpp>

#include "transfer/request/memory_range.hpp"
#include "window/copies/copy_threads.hpp"

namespace isthmus::transfer {

/// A window on a piece of one buffer, and a second one with helper threads once a copy needs them.
class CachedWindow {
public:
  CachedWindow(Windows& windows, const MemoryRange& buffer, std::uintptr_t begin,
               std::size_t size_bytes);

  bool covers(std::uintptr_t address, std::size_t size_bytes) const noexcept {
    return address >= begin_ && address - begin_ <= size_bytes_ &&
           size_bytes <= size_bytes_ - (address - begin_);
  }
  /// The buffer it was opened on; the copy must check that it still exists.
  std::uint64_t buffer_id() const noexcept { return buffer_id_; }
  std::uintptr_t begin() const noexcept { return begin_; }
  int device() const noexcept { return device_; }
  void write(std::uintptr_t address, const void* source, std::size_t size_bytes, bool threads);
  void read(void* target, std::uintptr_t address, std::size_t size_bytes, bool threads);
  bool buffer_is_alive() const { return one_.buffer_is_alive(); }
  /// True if a copy with threads would find none awake.
  bool helpers_asleep() const noexcept { return helpers_->asleep(); }
  /// True if nobody has copied through it since the last call.
  bool idle_since_last_asked() noexcept { return !used_.exchange(false); }

private:
  Window& window(bool threads);

  Windows windows_;
  std::uint64_t buffer_id_;
  int device_;
  std::uintptr_t begin_;
  std::size_t size_bytes_;
  Window one_;
  std::shared_ptr<const window::CopyThreads> helpers_;
  std::unique_ptr<Window> several_;
  std::once_flag several_once_;
  std::atomic<bool> used_{true};
};

/// Finds and opens windows for copies. May be used from any thread.
///
/// A window is opened on a buffer only when copies on it have lost as much time as opening one
/// costs, so at worst they take twice the best time. While any window is open, a thread wakes every
/// 100 ms to close those whose buffer was freed (a window keeps the memory) or that no copy has
/// used for 2 s. When none is left the thread ends.
class WindowCache {
public:
  /// What one window maps at most, and what a copy through one has at most: more pages cost more to
  /// open, small copies tend to stay close together, and above it the driver and the ring are much
  /// faster anyway. Source: benchmarks/windows.
  static constexpr std::size_t kMaxWindowBytes = std::size_t{16} << 20U;

  explicit WindowCache(Windows windows);
  ~WindowCache();
  WindowCache(const WindowCache&) = delete;
  WindowCache& operator=(const WindowCache&) = delete;

  /// The open window that covers a range of a buffer; null if there is none. Cheap if the calling
  /// thread found the same window last.
  std::shared_ptr<CachedWindow> find(std::uintptr_t address, std::size_t size_bytes) {
    return find_either(address, address, size_bytes);
  }
  /// The same for a copy's two ends, whichever is a device's.
  std::shared_ptr<CachedWindow> find_either(std::uintptr_t target, std::uintptr_t source,
                                            std::size_t size_bytes);

  /// Call when a copy could have saved `missed_seconds` with a window: opens one once that pays.
  ///
  /// Returns     null: not yet, or it can't be opened here (then why_not() says why).
  std::shared_ptr<CachedWindow> earn(const MemoryRange& buffer, std::uintptr_t address,
                                     std::size_t size_bytes, double missed_seconds,
                                     double opening_seconds);
  /// Opens a window now, and keeps it unless the range crosses into the next of several buffers.
  /// Throws as Windows::open.
  std::shared_ptr<CachedWindow> open(const MemoryRange& buffer, std::uintptr_t address,
                                     std::size_t size_bytes);

  /// False once a window on a device was refused permanently; fast.
  bool may_open(int device) const noexcept {
    return (refused_.load(std::memory_order_relaxed) >> bit_of(device) & 1U) == 0;
  }
  /// Why a device can't have windows; empty if it can, as far as is known.
  std::string why_not(int device) const;
  void trim();
  Windows& windows() noexcept { return windows_; }

private:
  using Clock = std::chrono::steady_clock;
  // All devices above 62 share the last bit.
  static unsigned bit_of(int device) noexcept {
    return static_cast<unsigned>(device < 63 ? device : 63);
  }
  void add(const std::shared_ptr<CachedWindow>& window);
  void start_sweeper();
  bool is_swept() const;
  void refuse(int device, const std::string& why);
  void put_off(const MemoryRange& buffer, double opening_seconds);
  void sweep_until_empty();
  void close_some(bool all);

  Windows windows_;
  const std::uint64_t identity_;
  std::atomic<std::uint64_t> epoch_{1};  ///< changes when any window is closed
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<CachedWindow>> open_;
  std::atomic<bool> any_open_{false};  ///< as open_ says, for those who don't hold the lock
  std::unordered_map<std::uint64_t, double> missed_seconds_;
  std::unordered_map<int, std::string> refusals_;
  std::atomic<std::uint64_t> refused_{0};  ///< the devices of refusals_, one bit each
  std::thread sweeper_;
  bool sweeping_ = false;
  bool ending_ = false;
};

}  // namespace isthmus::transfer
