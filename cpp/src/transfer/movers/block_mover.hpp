// Moves blocks between pools by index, and pieces between addresses, in one launch of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/buffers.hpp"
#include "device/kernels.hpp"
#include "device/sorted_rows.hpp"
#include "device/stream.hpp"
#include "transfer/request/index_reports.hpp"

#include "block_arguments.cuh"

namespace isthmus::transfer {

/// Which end of a copy is the host's.
enum class HostEnd { none, target, source };

/// How a kernel of a BlockMover is launched.
struct BlockLaunch {
  int num_multiprocessors = 0;  ///< the most
  bool urgent = false;
  HostEnd host_end = HostEnd::none;
  bool sorts = false;  ///< blocks go in the order of the host's addresses, except in a capture
  std::uint64_t report = 0;  ///< where the kernel tells of a wrong index; 0: where all do
};

/// Pinned memory that kernels read, such as indices, until a launch has ended.
class LaunchMemory {
public:
  LaunchMemory(const Context& context, std::size_t size_bytes)
      : pinned_(context, size_bytes), left_(context, Event::Timing::disabled) {}

  std::byte* data() const noexcept { return pinned_.data(); }
  std::size_t size_bytes() const noexcept { return pinned_.size_bytes(); }
  const Event& left() const noexcept { return left_; }

private:
  PinnedBuffer pinned_;
  Event left_;  ///< the launch that used it has ended
};

/// Where sorted indices are until a launch has read them.
class SortMemory {
public:
  static constexpr std::size_t kMaxBlocks = std::size_t{1} << 20U;  ///< that are sorted at once

  explicit SortMemory(const Context& context)
      : memory_(context, kSortingBinsBytes + (2 * kMaxBlocks + 1) * sizeof(std::uint64_t)),
        left_(context, Event::Timing::disabled) {}

  CUdeviceptr bins() const noexcept { return memory_.pointer(); }
  CUdeviceptr targets() const noexcept { return bins() + kSortingBinsBytes; }
  CUdeviceptr sources() const noexcept { return targets() + kMaxBlocks * sizeof(std::uint64_t); }
  /// A report that nobody reads: wrong indices are reported while they are sorted.
  CUdeviceptr report() const noexcept { return sources() + kMaxBlocks * sizeof(std::uint64_t); }
  const Event& left() const noexcept { return left_; }
  /// Nobody waits for it but the stream that waits for itself.
  bool is_free_for(CUstream stream) const {
    return (stream == used_in_ && stream != CU_STREAM_PER_THREAD) || left_.complete();
  }
  void leave(CUstream stream) {
    left_.record(stream);
    used_in_ = stream;
  }

private:
  DeviceBuffer memory_;
  Event left_;  ///< the launches that used it have ended
  std::optional<CUstream> used_in_;
};

/// The kernels of one device, and memory for what they read. May be used from any thread. The
/// device's primary context must be current.
class BlockMover {
public:
  explicit BlockMover(const Context& context) : context_(context) {}
  /// Waits for what is under way.
  ~BlockMover();
  BlockMover(const BlockMover&) = delete;
  BlockMover& operator=(const BlockMover&) = delete;

  /// Compiles the kernels at the first call.
  ///
  /// nvrtc       as Nvrtc::open() takes it
  /// Returns     why there are none; empty if they can be used. Final.
  /// Throws      std::bad_alloc: the next call tries again
  std::string obstacle(const std::string& nvrtc);
  /// The same with kernels of the caller's.
  std::string obstacle(const Kernels& kernels);

  /// Enqueues a copy of blocks.
  ///
  /// blocks      what is called BlockMover's isn't read
  /// Throws      DriverError: some of it may be under way.
  void move(const IsthmusBlocks& blocks, const BlockLaunch& how, CUstream stream);
  /// Enqueues a copy of pieces, each of at most kMaxPieceBytes.
  ///
  /// pieces      memory that the device reads, [num_pieces]
  /// Throws      as move()
  void move_pieces(CUdeviceptr pieces, std::size_t num_pieces, const BlockLaunch& how,
                   CUstream stream) const;

  /// Longer pieces would keep one warp busy while the others have ended.
  static constexpr std::size_t kMaxPieceBytes = std::size_t{32} << 10U;

  /// Memory for a launch, which nothing uses.
  ///
  /// Throws      OutOfDeviceMemory, DriverError.
  std::unique_ptr<LaunchMemory> take_memory(std::size_t size_bytes);
  /// Gives it back after its launch in that stream, or unused, if there was none.
  ///
  /// Throws      DriverError: then the launch has ended, or memory_in_use().
  void give_back(std::unique_ptr<LaunchMemory> memory, std::optional<CUstream> used_in);
  /// Keeps memory whose launch can't be waited for until the process ends.
  static void keep(std::unique_ptr<LaunchMemory> memory) noexcept;

  /// Where kernels tell of wrong indices; null before there are kernels.
  IndexReports* reports() {
    const std::lock_guard lock(mutex_);
    return reports_.get();
  }

private:
  std::string obstacle_with(const std::function<Kernels()>& open);
  void prepare(Kernels kernels);
  void launch(IsthmusBlocks blocks, const BlockLaunch& how, CUstream stream) const;
  std::unique_ptr<SortMemory> take_sorting(CUstream stream);
  void sort_and_launch(const IsthmusBlocks& blocks, const BlockLaunch& how,
                       const SortMemory& memory, CUstream stream) const;
  void move_sorted(const IsthmusBlocks& blocks, const BlockLaunch& how, CUstream stream);
  Kernel::Settings settings_of(const BlockLaunch& how) const noexcept {
    Kernel::Settings settings;
    if (how.urgent) settings.priority = most_urgent_;
    return settings;
  }

  Context context_;
  std::mutex mutex_;
  bool prepared_ = false;
  std::string obstacle_;
  std::optional<Kernels> kernels_;
  std::optional<Kernel> blocks_;
  std::optional<Kernel> count_, place_;
  std::optional<Kernel> pieces_;
  int most_urgent_ = 0;
  std::shared_ptr<IndexReports> reports_;
  std::vector<std::unique_ptr<LaunchMemory>> memory_;  ///< that was given back, oldest first
  std::vector<std::unique_ptr<SortMemory>> sorting_;   ///< that was given back
  std::size_t num_sorting_ = 0;                        ///< with those that were taken
};

}  // namespace isthmus::transfer
