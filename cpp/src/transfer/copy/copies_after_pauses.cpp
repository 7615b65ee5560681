#include "transfer/copy/copies_after_pauses.hpp"

#include <array>
#include <optional>

#include "transfer/carriers/driver_copy.hpp"
#include "transfer/copy/identity.hpp"
#include "transfer/copy/stream_order.hpp"
#include "window/allocation.hpp"

namespace isthmus::transfer {

struct alignas(64) CopyAfterPause {
  std::uint64_t owner = 0;  ///< 0: nothing is known
  void* target = nullptr;
  const void* source = nullptr;
  std::uint64_t pinned_id = 0;  ///< of the host's buffer; 0: it is pageable, or said to be pinned
  DevicePaths* device = nullptr;
  const Profile* profile = nullptr;
  Expectation expected;
  int times_left = 0;  ///< how often it may be made again
};

namespace {

// What pauses cost changes within minutes: another path may be the cheapest by then. Choosing one
// takes 8 us after a pause.
constexpr int kTimesAgain = 31;
// A program that waits between copies sends and fetches a few buffers each time.
constexpr std::size_t kNumKnown = 4;

constinit thread_local std::array<CopyAfterPause, kNumKnown> copies_of_thread;

/// The place of a copy.
[[gnu::hot]] CopyAfterPause& place_of(const void* target, const void* source) noexcept {
  // Not the same for both directions between two buffers, which programs copy in turns.
  const std::uint64_t both =
      reinterpret_cast<std::uintptr_t>(target) + 3 * reinterpret_cast<std::uintptr_t>(source);
  // The upper bits of a product with the golden ratio depend on all bits below.
  constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15U;
  return copies_of_thread[(both * golden_ratio >> 32U) % kNumKnown];
}

/// CUDA_SUCCESS if a copy in this stream would be made now, otherwise the reason.
[[gnu::hot]] CUresult refusal_of_copy(const Driver& driver, CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult result = driver.raw(symbol::stream_is_capturing)(stream, &status);
  const bool captured = result == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
  return captured ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : result;
}

}  // namespace

CopiesAfterPauses::CopiesAfterPauses(const Driver& driver, Devices& devices,
                                     const HostMemory& host_memory, Carriers& carriers)
    : driver_(driver),
      devices_(devices),
      host_memory_(host_memory),
      carriers_(carriers),
      identity_(new_identity()) {
  if (devices_.has_one()) add_cold_lines();
}

void CopiesAfterPauses::add_cold_lines() noexcept {
  cold_lines_.add(driver_, symbol::stream_is_capturing);
  cold_lines_.add(driver_, symbol::pointer_get_attribute);
  cold_lines_.add(driver_, symbol::thread_exchange_stream_capture_mode);
  cold_lines_.add(driver_, symbol::memcpy_htod);
  cold_lines_.add(driver_, symbol::memcpy_dtoh);
  cold_lines_.add(carriers_.statistics().line_of(CopyPath::driver));
  cold_lines_.add_hot_code(&copy_whole);
}

[[gnu::hot]] bool CopiesAfterPauses::copy(void* target, const void* source, std::size_t size_bytes,
                                          const Request& request, std::int64_t start_ns) const {
  CopyAfterPause& known = place_of(target, source);
  const bool is_known = known.owner == identity_ && known.target == target &&
                        known.source == source &&
                        known.expected.crossing.size_bytes == size_bytes && known.times_left > 0 &&
                        !request.path && is_legacy(request.stream);
  if (!is_known || !carriers_.pauses().is_after_pause(start_ns)) return false;
  known.device->fetch(known.expected);
  // A current context can only be of the one device, and the driver refuses the first question without
  // one. So it isn't asked for.
  std::optional<ContextOfDevice> context;
  CUresult refusal = refusal_of_copy(driver_, request.stream);
  if (refusal == CUDA_ERROR_INVALID_CONTEXT) {
    context.emplace(known.device->context());
    refusal = refusal_of_copy(driver_, request.stream);
  }
  if (refusal != CUDA_SUCCESS || !is_as_before(known, request)) return false;
  --known.times_left;
  copy_whole(driver_, ends_of(known.expected.crossing, target, source));
  carriers_.note_carried(*known.device, known.expected, start_ns);
  return true;
}

[[gnu::hot]] bool CopiesAfterPauses::is_as_before(const CopyAfterPause& known,
                                                  const Request& request) const {
  if (known.device->profile() != known.profile) return false;
  const Crossing& crossing = known.expected.crossing;
  const bool uploads = crossing.direction == Direction::host_to_device;
  const void* const host = uploads ? known.source : known.target;
  const MemoryKind said = uploads ? request.source_kind : request.target_kind;
  if (said == MemoryKind::pinned) return crossing.host_kind == MemoryKind::pinned;
  if (known.pinned_id != 0)
    return window::buffer_id_at(driver_, reinterpret_cast<std::uintptr_t>(host)) == known.pinned_id;
  // The former copy's caller said that this memory is pinned. If it isn't, an upload isn't complete on
  // return.
  if (uploads) return false;
  return host_memory_.touch_pageable(host, crossing.size_bytes, host::Access::write) ==
         HostTouch::direct;
}

void CopiesAfterPauses::note(const Plan& plan, const Request& request) const {
  const bool repeatable = plan.path == CopyPath::driver && plan.profile != nullptr &&
                          plan.crossing.after_pause && devices_.has_one() &&
                          is_complete_on_return(plan.ends, request.stream);
  if (!repeatable) return;
  place_of(plan.ends.target, plan.ends.source) = {
      identity_,
      plan.ends.target,
      plan.ends.source,
      plan.pinned_id,
      plan.device,
      plan.profile,
      plan.device->expectation(plan.path, plan.crossing),
      kTimesAgain};
}

}  // namespace isthmus::transfer
