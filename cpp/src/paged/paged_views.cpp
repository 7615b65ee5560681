// What the kernels of each stream are given of a paged array: a map, and the bits of what is settled.
#include "paged/paged_memory.hpp"

#include <cstdint>
#include <utility>

#include <isthmus/errors.hpp>

#include "device/capture.hpp"
#include "device/stream.hpp"
#include "paged/paged_layout.hpp"

namespace isthmus {

CUdeviceptr PagedMemory::view_of(CUstream given) const {
  const std::scoped_lock lock(viewing_);
  return view_held_of(given);
}

/// The caller has `viewing_`.
CUdeviceptr PagedMemory::view_held_of(CUstream given) const {
  // In the other threads that handle means other streams, which nothing orders with this one.
  if (given == CU_STREAM_PER_THREAD)
    throw UsageError(
        "CU_STREAM_PER_THREAD is another stream in each thread, and a paged array is told which "
        "streams use it: pass a stream of your own");
  const CUstream stream = given == CU_STREAM_LEGACY ? kDefaultStream : given;
  if (budgeted()) follow(stream);
  const CUstream owner = budgeted() ? kDefaultStream : stream;
  if (const auto found = views_.find(owner); found != views_.end()) return found->second.pointer();
  require_no_capture(stream);
  return new_view(owner);
}

void PagedMemory::require_no_capture(CUstream stream) const {
  const CurrentContext current(context_);
  if (!is_captured(context_.driver(), stream)) return;
  throw UsageError(
      "this stream is being captured, and the paged array wasn't used in it before: "
      "call argument(stream) once before the capture");
}

/// Filled in a stream of its own: the caller's may be busy with work that waits for the caller.
CUdeviceptr PagedMemory::new_view(CUstream owner) const {
  const CurrentContext current(context_);
  const Driver& driver = context_.driver();
  const ScopedRelaxedCapture relaxed(driver);
  const Stream filling(context_);
  DeviceBuffer view(context_, PagedLayout(source_, options_).view_bytes);
  budgeted_map map = map_;
  map.settled = reinterpret_cast<const paged::word*>(view.pointer() + kPagedSettledAt);
  map.all_settled = reinterpret_cast<const paged::word*>(view.pointer() + kPagedAllSettledAt);
  driver.call(symbol::memset_d8_async)(view.pointer(), std::uint8_t{0}, view.size_bytes(),
                                       filling.handle());
  driver.call(symbol::memcpy_htod_async)(view.pointer(), &map, sizeof map, filling.handle());
  filling.synchronize();
  return views_.emplace(owner, std::move(view)).first->second.pointer();
}

void PagedMemory::follow(CUstream stream) const {
  if (stream == last_stream_) return;
  require_no_capture(stream);
  // The kernels of the last stream may be the caller's: only the device knows when they have ended.
  const ScopedRelaxedCapture relaxed(context_.driver());
  await_device();
  last_stream_ = stream;
}

std::vector<CUdeviceptr> PagedMemory::views() const {
  const std::scoped_lock lock(viewing_);
  std::vector<CUdeviceptr> pointers;
  pointers.reserve(views_.size());
  for (const auto& [stream, view] : views_) pointers.push_back(view.pointer());
  return pointers;
}

}  // namespace isthmus
