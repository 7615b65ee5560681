// A way to map device memory for the CPU: one file for each, one small interface.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <isthmus/window.hpp>

#include "device/context.hpp"
#include "window/allocation.hpp"
#include "window/backends/device_files.hpp"

namespace isthmus::window {

/// The members of WindowCosts, in order.
enum class Step : std::size_t { pin, map, unmap, unpin };
inline constexpr std::size_t kNumSteps = 4;

/// Sums over many mappings. May be used from any thread; every number only grows.
class StepTotals {
public:
  void add(Step step, std::uint64_t nanoseconds) noexcept;
  WindowCosts costs() const noexcept;

private:
  struct Total {
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> nanoseconds{0};
  };
  WindowStep read(Step step) const noexcept;

  std::array<Total, kNumSteps> totals_;
};

/// The steps of one mapping. They are not counted before count_in(), so those of refused mappings
/// and of the self-test never are. Not thread-safe.
class MappingSteps {
public:
  /// files       their clock is read twice per step
  explicit MappingSteps(std::shared_ptr<const DeviceFiles> files) : files_(std::move(files)) {}

  /// Makes a step: runs `work` and returns its result.
  template <typename Work>
  auto time(Step step, Work work) {
    const Timer timer(*this, step);
    return work();
  }
  /// Adds the steps made so far to `totals`, and each later step when it is made.
  void count_in(std::shared_ptr<StepTotals> totals) noexcept;

private:
  class Timer {
  public:
    Timer(MappingSteps& steps, Step step)
        : steps_(steps), step_(step), begin_(steps.files_->nanoseconds()) {}
    ~Timer() { steps_.took(step_, steps_.files_->nanoseconds() - begin_); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

  private:
    MappingSteps& steps_;
    Step step_;
    std::uint64_t begin_;
  };
  void took(Step step, std::uint64_t nanoseconds) noexcept;

  std::shared_ptr<const DeviceFiles> files_;
  std::array<std::optional<std::uint64_t>, kNumSteps> uncounted_ns_;
  std::shared_ptr<StepTotals> totals_;
};

/// By what a backend found the memory behind a pointer.
enum class FoundBy {
  address_range,  ///< its addresses: cuMemGetHandleForAddressRange
  pinned_pages,   ///< its addresses: the kernel module pins them
  ipc_handle,     ///< the number in its handle of cuIpcGetMemHandle
  descriptor,     ///< its descriptor of cuMemExportToShareableHandle
  record,         ///< the number in the driver's record of it
};
/// "its IPC handle"
std::string_view name_of(FoundBy found_by) noexcept;

/// Whole pages of one allocation, mapped. The destructor unmaps and releases them; in a forked
/// child it does nothing, because the mapping stayed with the parent.
class PageMapping {
public:
  virtual ~PageMapping() = default;
  PageMapping(const PageMapping&) = delete;
  PageMapping& operator=(const PageMapping&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  /// True if the same piece of memory contains other buffers: a freed buffer's bytes may then be
  /// allocated to another buffer while this mapping holds the piece.
  bool shared() const noexcept { return shared_; }
  FoundBy found_by() const noexcept { return found_by_; }
  /// Adds its steps to `totals`, including those already made.
  void count_in(std::shared_ptr<StepTotals> totals) noexcept { steps_.count_in(std::move(totals)); }

protected:
  /// steps       pin and map have been made; the destructor makes unmap and unpin
  PageMapping(MappingSteps steps, FoundBy found_by)
      : steps_(std::move(steps)), found_by_(found_by) {}
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  bool shared_ = false;
  MappingSteps steps_;

private:
  FoundBy found_by_;
};

/// Device addresses [begin, begin + size_bytes), whole pages.
struct DevicePages {
  std::uintptr_t begin = 0;
  std::size_t size_bytes = 0;
};

/// May be used from any thread.
class Backend {
public:
  virtual ~Backend() = default;
  virtual WindowBackend kind() const noexcept = 0;
  /// A description for reports: "driver 580.159.04, tested on H100 SXM, H200".
  virtual std::string description() const = 0;
  /// What the user should be told once when this backend is used; empty for nothing.
  virtual std::string notice() const { return {}; }

  /// Maps pages of `allocation`. The pages may extend beyond it by less than one requested page.
  ///
  /// context     of the allocation's device, current on this thread
  /// where       null, or reserved host pages of that size for the mapping
  /// Throws      Unavailable; its reason names the call that failed and its error.
  virtual std::unique_ptr<PageMapping> map(const Context& context, const Allocation& allocation,
                                           DevicePages pages, void* where) = 0;
};

/// Each throws Unavailable, with the reason, if it can't work at all.
std::unique_ptr<Backend> open_dmabuf_backend(const Driver& driver);
std::unique_ptr<Backend> open_gdrdrv_backend(const Driver& driver,
                                             std::shared_ptr<const class DeviceFiles> files);
/// chosen_by_user   allows driver versions older than the tested ones
std::unique_ptr<Backend> open_rm_backend(const Driver& driver,
                                         std::shared_ptr<const class DeviceFiles> files,
                                         bool chosen_by_user);

}  // namespace isthmus::window
