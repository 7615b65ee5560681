// What copies of one Transfers share: devices, windows, statistics, the background thread.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include <isthmus/transfer.hpp>

#include "transfer/background.hpp"
#include "transfer/copy_statistics.hpp"
#include "transfer/device_paths.hpp"
#include "transfer/driver_copy.hpp"
#include "transfer/host_memory.hpp"
#include "transfer/memory_range.hpp"
#include "transfer/pending_copy.hpp"
#include "transfer/repeated_copy.hpp"
#include "transfer/window_cache.hpp"

namespace isthmus::transfer {

/// A copy whose two ends are known and checked.
struct Task {
  CopyEnds ends;
  MemoryRange target;
  MemoryRange source;
  int device = -1;       ///< -1: both ends are the host's
  bool crosses = false;  ///< between the host and a device whose memory doesn't move
  Crossing crossing;

  bool uploads() const noexcept { return crossing.direction == Direction::host_to_device; }
  const MemoryRange& device_range() const noexcept { return uploads() ? target : source; }
  const MemoryRange& host_range() const noexcept { return uploads() ? source : target; }
  std::uintptr_t device_address() const noexcept {
    return reinterpret_cast<std::uintptr_t>(uploads() ? ends.target : ends.source);
  }
};

/// May be used from any thread; in a forked child every member but the destructor throws
/// UsageError.
struct Engine {
  explicit Engine(Windows windows);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void copy(void* target, const void* source, std::size_t size_bytes, const CopyOptions& options);
  std::shared_ptr<PendingCopy> copy_async(void* target, const void* source, std::size_t size_bytes,
                                          const CopyOptions& options, SourceOrder source_order);
  void copy_file(void* target, int descriptor, std::uint64_t offset_bytes, std::size_t size_bytes,
                 const CopyOptions& options);
  CopyPlan explain(const void* target, const void* source, std::size_t size_bytes,
                   const CopyOptions& options);
  void use_profile(std::string_view json);
  void trim();
  void require_own_process() const;
  DevicePaths& paths(int device);

  Driver driver;
  CopyStatistics statistics;
  Windows windows;

private:
  bool copy_small(void* target, const void* source, std::size_t size_bytes,
                  const CopyOptions& options);
  void note_copy(const Task& task, const CopyOptions& options, double predicted_seconds);
  bool copy_again(void* target, const void* source, std::size_t size_bytes,
                  const CopyOptions& options);
  bool is_still_there(const CopyEnds& ends, const RepeatedCopy::Facts& facts) const;
  bool repeat_copy(const CopyEnds& ends, const RepeatedCopy::Facts& facts);
  Task examine(void* target, const void* source, std::size_t size_bytes,
               const CopyOptions& options);
  void require_touchable(CopyEnds& ends, const CopyOptions& options) const;
  void copy_planned(const Task& task, const CopyOptions& options);
  CopyPath prepare(const Task& task, const CopyOptions& options,
                   std::shared_ptr<CachedWindow>& window, double& predicted_seconds);
  CopyPath prepare_named(const Task& task, const CopyOptions& options,
                         std::shared_ptr<CachedWindow>& window);
  std::shared_ptr<CachedWindow> window_for(const Task& task);
  void carry(const Task& task, CopyPath path, CachedWindow* window, const CopyOptions& options);
  void carry_directly(const Task& task, CopyPath path, CachedWindow* window,
                      const CopyOptions& options);
  void copy_staged(const Task& task, CUstream stream);
  std::shared_ptr<PendingCopy> copy_now(const Task& task, const CopyOptions& options);
  void enqueue_upload(const CopyEnds& ends, CUstream stream) const;
  std::shared_ptr<PendingCopy> enqueue(const Task& task, CUstream stream);
  std::shared_ptr<PendingCopy> upload_staged(const Task& task, const CopyOptions& options);
  std::shared_ptr<PendingCopy> copy_in_background(const Task& task, const CopyOptions& options);
  void carry_or_fall_back(const Task& task, CopyPath path, CachedWindow* window,
                          const CopyOptions& options);

  std::uint64_t process_;
  HostMemory host_memory_;
  std::unique_ptr<WindowCache> cache_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DevicePaths>> owned_paths_;
  std::vector<std::atomic<DevicePaths*>> paths_;
  std::unique_ptr<Background> background_;
};

}  // namespace isthmus::transfer
