// Plans that can be used again, for copies so short that planning takes longer than copying.
#pragma once

#include <cstdint>
#include <utility>

#include "device/capture.hpp"
#include "driver/driver.hpp"
#include "transfer/plan/devices.hpp"
#include "transfer/plan/plan.hpp"
#include "transfer/plan/window_cache.hpp"
#include "transfer/request/host_memory.hpp"
#include "window/allocation.hpp"

namespace isthmus::transfer {

/// A copy that a thread has made by the driver.
struct KnownCopy;

/// Knows two kinds of copies. First, copies through an open window, up to the size at which a window
/// is the cheapest path for every kind of host memory; up to another size only while the threads that
/// help are awake, since after a pause other paths may be cheaper. After a pause one thread may be
/// quicker than those that have to wake: see path_after_pause(). Second, the copy that the calling
/// thread has just made by the driver, for the rest of the kernel's tick. Examining a copy means asking
/// the driver about two pointers and the stream, 0.4 us, and a program that polls a result, or feeds a
/// kernel from one buffer, copies the same bytes thousands of times.
/// May be used from any thread.
class PlanCache {
public:
  /// clock       replaces the kernel's, for tests
  PlanCache(const Driver& driver, Devices& devices, WindowCache& windows,
            const HostMemory& host_memory, HostMemory::Clock* clock = host::this_tick);

  /// Plans a copy from what is known; asks no driver.
  ///
  /// Returns     a plan that is valid once it is confirmed; no plan if nothing is known about such
  ///             a copy, or its path is named
  Plan find(void* target, const void* source, std::size_t size_bytes, const Request& request) const;
  /// The same of copies through windows alone.
  Plan find_window(void* target, const void* source, std::size_t size_bytes,
                   const Request& request) const;

  /// The path of a plan that was found, for a copy after a pause: where threads that help aren't worth
  /// waking, one thread copies.
  static CopyPath path_after_pause(const Plan& plan) noexcept;

  /// Asks whether the memory at both ends is unchanged. A context of the plan's device must be
  /// current.
  ///
  /// Returns     false: the copy must be examined
  bool confirm(const Plan& plan, const Request& request) const;

  /// Call after a plan was carried. Keeps it for the calling thread if repeating the copy can be
  /// cheaper: the driver's copy is the best path, by one call that is complete on return. Only this
  /// is kept. The driver copies whatever is at the source's address by then, or refuses; then the
  /// copy must be examined after all.
  void note(const Plan& plan, const Request& request) const;

private:
  Plan find_known(void* target, const void* source, std::size_t size_bytes,
                  const Request& request) const;
  bool may_be_touched(const Plan& plan, const Request& request) const;

  const Driver& driver_;
  Devices& devices_;
  WindowCache& windows_;
  const HostMemory& host_memory_;
  HostMemory::Clock* clock_;
  const std::uint64_t identity_;
};

// Inline: calls and copied plans would add 20 ns to each small copy.

[[gnu::always_inline]] inline Plan PlanCache::find_window(void* target, const void* source,
                                                          std::size_t size_bytes,
                                                          const Request& request) const {
  if (request.path) return {};
  const auto to = reinterpret_cast<std::uintptr_t>(target);
  const auto from = reinterpret_cast<std::uintptr_t>(source);
  auto window = windows_.find_either(to, from, size_bytes);
  if (window == nullptr) return {};
  const Direction direction =
      window->covers(to, size_bytes) ? Direction::host_to_device : Direction::device_to_host;
  DevicePaths& device = devices_.at(window->device());
  const bool threads = size_bytes > device.window_until_bytes(direction);
  const Crossing crossing{direction, MemoryKind::pageable, size_bytes};
  const bool is_best =
      size_bytes <= device.window_always_until_bytes(direction) ||
      (size_bytes <= device.window_threads_until_bytes(direction) && !window->helpers_asleep());
  if (!is_best) return {};
  return {ends_of(crossing, target, source), crossing, &device,
          threads ? CopyPath::window_threads : CopyPath::window, std::move(window)};
}

[[gnu::always_inline]] inline Plan PlanCache::find(void* target, const void* source,
                                                   std::size_t size_bytes,
                                                   const Request& request) const {
  Plan plan = find_window(target, source, size_bytes, request);
  if (plan || request.path) return plan;
  return find_known(target, source, size_bytes, request);
}

[[gnu::always_inline]] inline bool PlanCache::confirm(const Plan& plan,
                                                      const Request& request) const {
  return may_be_touched(plan, request) && !is_captured(driver_, request.stream);
}

/// A file may have become shorter since, or a buffer may have been freed.
[[gnu::always_inline]] inline bool PlanCache::may_be_touched(const Plan& plan,
                                                             const Request& request) const {
  const void* const host = plan.host_end();
  const std::size_t size_bytes = plan.ends.size_bytes;
  if (plan.window == nullptr) {
    // Of pageable memory only downloads are kept.
    if (plan.pinned_id == 0) return host_memory_.is_known(host, size_bytes);
    return window::buffer_id_at(driver_, reinterpret_cast<std::uintptr_t>(host)) == plan.pinned_id;
  }
  const MemoryKind hint = plan.uploads() ? request.source_kind : request.target_kind;
  const auto access = plan.uploads() ? host::Access::read : host::Access::write;
  const bool direct =
      is_said_to_be_host(hint) || host_memory_.touch(host, size_bytes, access) == HostTouch::direct;
  return direct && window::buffer_id_at(driver_, plan.device_address()) == plan.window->buffer_id();
}

}  // namespace isthmus::transfer
