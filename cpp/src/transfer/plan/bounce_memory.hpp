// Pinned memory that short copies of a mapped file's memory go through.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "device/context.hpp"
#include "transfer/pinned/pinned_region.hpp"

namespace isthmus::transfer {

/// One huge page for one device, pinned on first use: the kernel copies to and from huge pages in a
/// quarter of the time of small ones, and the driver copies pinned memory without another copy. May
/// be used from any thread.
class BounceMemory {
public:
  explicit BounceMemory(const Context& context) : context_(context) {}

  /// Use of the memory by one thread.
  class Hold {
  public:
    Hold() = default;
    explicit operator bool() const noexcept { return memory_ != nullptr; }
    std::byte* data() const noexcept { return memory_->region_->data(); }
    /// The device may still use it: it stays pinned, and the next hold pins other memory.
    void leave() noexcept;

  private:
    friend class BounceMemory;
    Hold(BounceMemory& memory, std::unique_lock<std::mutex> lock)
        : memory_(&memory), lock_(std::move(lock)) {}

    BounceMemory* memory_ = nullptr;
    std::unique_lock<std::mutex> lock_;
  };

  static constexpr std::size_t kBytes = std::size_t{2} << 20U;
  /// Returns     nothing if another thread holds it, or there is no memory to pin; the latter isn't
  ///             tried again until trim()
  Hold hold();
  /// Unpins the memory unless it is held.
  void trim();

private:
  Context context_;
  std::mutex mutex_;
  std::unique_ptr<PinnedRegion> region_;  ///< null: not pinned
  bool given_up_ = false;
};

}  // namespace isthmus::transfer
