// What windows share: pages of one buffer, mapped once.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "window/backend.hpp"
#include "window/copies/streaming_copy.hpp"

namespace isthmus::window {

/// The bytes of one device's BAR1 that windows map, with a limit.
class Bar1Budget {
public:
  /// limit_bytes     0: no limit
  explicit Bar1Budget(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Throws      Unavailable, and takes nothing, if `size_bytes` more would exceed the limit.
  void take(std::uint64_t size_bytes);
  void give_back(std::uint64_t size_bytes) noexcept { used_bytes_ -= size_bytes; }

  std::uint64_t used_bytes() const noexcept { return used_bytes_; }
  std::uint64_t limit_bytes() const noexcept { return limit_bytes_; }

private:
  std::uint64_t limit_bytes_;
  std::atomic<std::uint64_t> used_bytes_{0};
};

/// Pages around a range of device memory, in one range of host addresses. Immutable once shared;
/// unmapped when its last window is closed.
class Mapping {
public:
  /// Maps `pages`, which begin in the first of `allocations` and end in the last.
  ///
  /// context     of the device, current on this thread
  /// Throws      Unavailable if the backend refuses or the budget is used up; nothing is kept then.
  Mapping(const Context& context, Backend& backend, std::shared_ptr<Bar1Budget> budget,
          std::vector<Allocation> allocations, DevicePages pages);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  DevicePages pages() const noexcept { return pages_; }
  std::byte* data() const noexcept { return data_; }
  /// The host address of a mapped device address.
  std::byte* at(std::uintptr_t device_pointer) const noexcept {
    return data_ + (device_pointer - pages_.begin);
  }
  bool covers(DevicePages wanted) const noexcept;
  /// True if a range, not rounded to pages, lies in the mapped buffers.
  bool holds(DevicePages range) const noexcept;
  /// True if other buffers share its pages.
  bool shared() const noexcept { return shared_; }
  WindowBackend backend() const noexcept { return backend_; }
  /// By what its memory was found; `record` if part of it was.
  FoundBy found_by() const noexcept { return found_by_; }
  /// How the CPU copies through it.
  const StreamingCopy& copy() const noexcept { return copy_; }
  const std::vector<Allocation>& allocations() const noexcept { return allocations_; }
  /// True while every buffer is the one that was mapped.
  bool buffers_are_alive() const noexcept;
  /// Throws      UsageError if a buffer was freed; DriverError if the driver can't say.
  void require_live_buffers() const;
  /// Adds the steps of its pieces to `totals`, including those already made.
  void count_in(const std::shared_ptr<StepTotals>& totals) noexcept;

private:
  void map_pieces(const Context& context, Backend& backend);
  void add(std::unique_ptr<PageMapping> piece);

  Context context_;
  const StreamingCopy& copy_;
  WindowBackend backend_;
  std::shared_ptr<Bar1Budget> budget_;
  std::vector<Allocation> allocations_;
  DevicePages pages_;
  std::byte* data_ = nullptr;
  bool shared_ = false;
  FoundBy found_by_ = FoundBy::address_range;
  std::unique_ptr<class MappedHostPages> reserved_;
  std::vector<std::unique_ptr<PageMapping>> pieces_;
};

}  // namespace isthmus::window
