#include "transfer/copy/plan_cache.hpp"

#include <cstdint>

#include "transfer/carriers/driver_copy.hpp"
#include "transfer/request/identity.hpp"

namespace isthmus::transfer {

struct KnownCopy {
  std::uint64_t owner = 0;  ///< 0: nothing is known
  void* target = nullptr;
  const void* source = nullptr;
  Crossing crossing;
  int device = -1;
  std::uint64_t pinned_id = 0;
  const Profile* profile = nullptr;
  double predicted_seconds = 0;
  host::Tick tick = 0;  ///< until which it is known
};

namespace {

constinit thread_local KnownCopy last_of_thread;

}  // namespace

PlanCache::PlanCache(const Driver& driver, Devices& devices, WindowCache& windows,
                     const HostMemory& host_memory, HostMemory::Clock* clock)
    : driver_(driver),
      devices_(devices),
      windows_(windows),
      host_memory_(host_memory),
      clock_(clock),
      identity_(new_identity()) {}

Plan PlanCache::find_known(void* target, const void* source, std::size_t size_bytes,
                           const Request& request) const {
  const KnownCopy& last = last_of_thread;
  const bool is_last = last.owner == identity_ && last.target == target && last.source == source &&
                       last.crossing.size_bytes == size_bytes && last.tick == clock_();
  if (!is_last) return {};
  DevicePaths& device = devices_.at(last.device);
  Plan plan(ends_of(last.crossing, target, source), last.crossing, &device, CopyPath::driver);
  plan.pinned_id = last.pinned_id;
  plan.predicted_seconds = last.predicted_seconds;
  const bool holds =
      device.profile() == last.profile && is_complete_on_return(plan.ends, request.stream);
  if (!holds) plan.ends.size_bytes = 0;
  return plan;
}

void PlanCache::note(const Plan& plan, const Request& request) const {
  // After a pause the driver is often the best path where others are for the copies that follow.
  const bool repeatable = plan.path == CopyPath::driver && plan.profile != nullptr &&
                          !plan.crossing.after_pause &&
                          is_complete_on_return(plan.ends, request.stream);
  if (!repeatable) return;
  last_of_thread = {identity_,
                    plan.ends.target,
                    plan.ends.source,
                    plan.crossing,
                    plan.device->context().device().ordinal,
                    plan.pinned_id,
                    plan.profile,
                    plan.predicted_seconds,
                    clock_()};
}

CopyPath PlanCache::path_after_pause(const Plan& plan) noexcept {
  const bool alone =
      plan.path == CopyPath::window_threads &&
      plan.ends.size_bytes <= plan.device->window_alone_until_bytes(plan.crossing.direction);
  return alone ? CopyPath::window : plan.path;
}

}  // namespace isthmus::transfer
