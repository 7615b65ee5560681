// The steps of a copy: examined, planned, carried.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <isthmus/transfer.hpp>

#include "transfer/blocks/block_copies.hpp"
#include "transfer/carriers/carriers.hpp"
#include "transfer/copy/plan_cache.hpp"
#include "transfer/many/many_copies.hpp"
#include "transfer/many/strided_copies.hpp"
#include "transfer/plan/choose.hpp"
#include "transfer/plan/devices.hpp"
#include "transfer/plan/window_cache.hpp"
#include "transfer/request/host_memory.hpp"
#include "transfer/staging/staging_ring.hpp"

namespace isthmus::transfer {

/// For tests that make many Transfers: a smaller ring pins less memory.
Transfers transfers_with_ring(Windows windows, const RingSettings& ring);

/// What copies of one Transfers share. May be used from any thread of the process that made it: a
/// forked child uses here().
struct Engine {
  explicit Engine(Windows windows, const RingSettings& ring = {});
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// As transfers_with_ring().
  static Transfers transfers(Windows windows, const RingSettings& ring);
  static Engine& of(Transfers& transfers) { return transfers.engine_->here(); }
  /// This one; in a forked child another one, without devices, so that the host's memory can be
  /// copied whatever state the parent's locks and threads are in.
  Engine& here() {
    if (process_ == process_generation()) [[likely]]
      return *this;
    return in_child();
  }

  void copy(void* target, const void* source, std::size_t size_bytes, const CopyOptions& options);
  std::shared_ptr<PendingCopy> copy_async(void* target, const void* source, std::size_t size_bytes,
                                          const CopyOptions& options, SourceOrder source_order);
  /// Makes a copy that takes less time than beginning one would: a small one, through a window that
  /// is open, in a stream that has no work.
  ///
  /// Returns     true: complete. False: nothing has been done
  /// Throws      as Transfers::copy()
  bool copy_at_once(void* target, const void* source, std::size_t size_bytes,
                    const CopyOptions& options);
  void copy_many(std::span<const ManyCopy> copies) {
    if (!blocks_.copy_short(copies)) many_.copy(copies);
  }
  std::shared_ptr<PendingCopy> copy_many_async(std::span<const ManyCopy> copies,
                                               SourceOrder source_order) {
    return many_.copy_async(copies, source_order);
  }
  std::vector<PathShare> explain_many(std::span<const ManyCopy> copies) {
    return many_.explain(copies);
  }
  BlockCopies& blocks() noexcept { return blocks_; }
  void copy_strided(const StridedCopy& copy, const CopyOptions& options) {
    strided_.copy(copy, options);
  }
  void check_strided(const StridedCopy& copy, const CopyOptions& options) {
    strided_.check(copy, options);
  }
  void check_host_memory(const void* memory, std::size_t size_bytes, bool writes);
  void wait_for_work(CUstream stream);
  void copy_file(void* target, int descriptor, std::uint64_t offset_bytes, std::size_t size_bytes,
                 const CopyOptions& options);
  CopyPlan explain(const void* target, const void* source, std::size_t size_bytes,
                   const CopyOptions& options);
  void use_profile(std::string_view json) { devices_.use_profile(json); }
  void use_nvrtc(std::string library) { devices_.use_nvrtc(std::move(library)); }
  void trim();
  DevicePaths& paths(int device) { return devices_.at(device); }
  const CopyStatistics& statistics() const noexcept { return carriers_.statistics(); }

  Driver driver;
  Windows windows;

private:
  Engine& in_child();
  bool copy_again(void* target, const void* source, std::size_t size_bytes, const Request& request);
  bool carry_at_once(const Task& task, const Request& request);
  Task examined(void* target, const void* source, std::size_t size_bytes, const Request& request);
  Task examined(void* target, const FileSource& source, std::size_t size_bytes);
  void copy_examined(const Task& task, const Request& request);

  std::uint64_t process_;
  std::atomic<Engine*> child_{nullptr};  ///< never destroyed
  HostMemory host_memory_;
  std::unique_ptr<WindowCache> cache_;
  Devices devices_;
  Chooser chooser_;
  Carriers carriers_;
  PlanCache plans_;
  ManyCopies many_;
  StridedCopies strided_;
  BlockCopies blocks_;
};

}  // namespace isthmus::transfer
