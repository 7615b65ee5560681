// The steps of a copy: examined, planned, carried.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <isthmus/transfer.hpp>

#include "transfer/copy/background.hpp"
#include "transfer/copy/carrier.hpp"
#include "transfer/copy/choose.hpp"
#include "transfer/copy/copy_statistics.hpp"
#include "transfer/copy/devices.hpp"
#include "transfer/copy/host_memory.hpp"
#include "transfer/copy/pending_copy.hpp"
#include "transfer/copy/plan_cache.hpp"
#include "transfer/copy/window_cache.hpp"
#include "transfer/many/choose_many.hpp"

namespace isthmus::transfer {

/// What copies of one Transfers share. May be used from any thread; in a forked child every member
/// except the destructor throws UsageError.
struct Engine {
  explicit Engine(Windows windows);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void copy(void* target, const void* source, std::size_t size_bytes, const CopyOptions& options);
  std::shared_ptr<PendingCopy> copy_async(void* target, const void* source, std::size_t size_bytes,
                                          const CopyOptions& options, SourceOrder source_order);
  void copy_many(std::span<const ManyCopy> copies);
  std::shared_ptr<PendingCopy> copy_many_async(std::span<const ManyCopy> copies,
                                               SourceOrder source_order);
  void copy_strided(const StridedCopy& copy, const CopyOptions& options);
  void use_nvrtc(std::string library);
  void copy_file(void* target, int descriptor, std::uint64_t offset_bytes, std::size_t size_bytes,
                 const CopyOptions& options);
  CopyPlan explain(const void* target, const void* source, std::size_t size_bytes,
                   const CopyOptions& options);
  void use_profile(std::string_view json);
  void trim();
  void require_own_process() const;
  DevicePaths& paths(int device) { return devices_.at(device); }

  Driver driver;
  CopyStatistics statistics;
  Windows windows;

private:
  bool copy_again(void* target, const void* source, std::size_t size_bytes, const Request& request);
  void copy_examined(const Task& task, const Request& request);
  std::shared_ptr<PendingCopy> begin(const Plan& plan, const Request& request);
  Return when_to_return(const Task& task, const Request& request);
  std::vector<Member> examine_many(std::span<const ManyCopy> copies, Return when);
  std::vector<std::shared_ptr<PendingCopy>> begin_many(std::span<const PlannedCopies> planned);
  std::shared_ptr<PendingCopy> begin_early(const Plan& plan, const Request& request);
  std::string nvrtc();
  std::string kernel_obstacle(DevicePaths& paths);
  std::vector<PlannedCopies> plan_many(std::span<const ManyCopy> copies, Return when);
  std::shared_ptr<PendingCopy> carry_in_background(const Plan& plan, const Request& request);
  void carry(const Plan& plan, const Request& request);
  void carry_timed(const Plan& plan, const Request& request, std::uint32_t num_copies);
  const Carrier& carrier(CopyPath path) const noexcept {
    return *carriers_[static_cast<std::size_t>(path)];
  }

  std::uint64_t process_;
  HostMemory host_memory_;
  std::unique_ptr<WindowCache> cache_;
  Devices devices_;
  Chooser chooser_;
  ManyChooser many_chooser_;
  PlanCache plans_;
  WindowCarrier window_carrier_;
  DriverCarrier driver_carrier_;
  StagedCarrier staged_carrier_;
  RegisteredCarrier registered_carrier_;
  KernelCarrier kernel_carrier_;
  std::array<const Carrier*, kNumCountedPaths> carriers_;  ///< in the order of kCountedPaths
  std::mutex mutex_;
  std::string nvrtc_;
  std::unique_ptr<Background> background_;
};

}  // namespace isthmus::transfer
