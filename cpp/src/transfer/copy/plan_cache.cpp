#include "transfer/copy/plan_cache.hpp"

#include <array>
#include <atomic>
#include <cstdint>

#include "transfer/carriers/driver_copy.hpp"

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
  host::Tick tick = 0;  ///< until which it is known, if it came after no pause
  int times_left = 0;   ///< how often it may be made again, if it came after a pause
};

namespace {

// What pauses cost changes within minutes: another path may be the cheapest by then.
constexpr int kTimesAgain = 7;
// A program that waits between copies sends and fetches a few buffers each time.
constexpr std::size_t kNumAfterPauses = 4;

struct KnownCopies {
  KnownCopy last;
  std::array<KnownCopy, kNumAfterPauses> after_pauses;

  /// The place of a copy after a pause.
  KnownCopy& after_pause(const void* target, const void* source) noexcept {
    // Not the same for both directions between two buffers, which programs copy in turns.
    const std::uint64_t both =
        reinterpret_cast<std::uintptr_t>(target) + 3 * reinterpret_cast<std::uintptr_t>(source);
    // The upper bits of a product with the golden ratio depend on all bits below.
    constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15U;
    return after_pauses[(both * golden_ratio >> 32U) % kNumAfterPauses];
  }
};
constinit thread_local KnownCopies copies_of_thread;

std::uint64_t next_identity() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

PlanCache::PlanCache(const Driver& driver, Devices& devices, WindowCache& windows,
                     const HostMemory& host_memory, const CopyPauses& pauses,
                     HostMemory::Clock* clock)
    : driver_(driver),
      devices_(devices),
      windows_(windows),
      host_memory_(host_memory),
      pauses_(pauses),
      clock_(clock),
      identity_(next_identity()) {}

bool PlanCache::is_of(const KnownCopy& known, void* target, const void* source,
                      std::size_t size_bytes) const noexcept {
  return known.owner == identity_ && known.target == target && known.source == source &&
         known.crossing.size_bytes == size_bytes;
}

Plan PlanCache::find_known(void* target, const void* source, std::size_t size_bytes,
                           const Request& request) const {
  const KnownCopy& last = copies_of_thread.last;
  if (is_of(last, target, source, size_bytes) && last.tick == clock_())
    return plan_of(last, request);
  KnownCopy& known = copies_of_thread.after_pause(target, source);
  if (!is_of(known, target, source, size_bytes) || known.times_left == 0) return {};
  const std::int64_t now_ns = pauses_.now_ns();
  if (!pauses_.is_after_pause(now_ns)) return {};
  --known.times_left;
  Plan plan = plan_of(known, request);
  plan.start_ns = now_ns;
  return plan;
}

Plan PlanCache::plan_of(const KnownCopy& known, const Request& request) const {
  DevicePaths& device = devices_.at(known.device);
  Plan plan(ends_of(known.crossing, known.target, known.source), known.crossing, &device,
            CopyPath::driver);
  plan.pinned_id = known.pinned_id;
  plan.predicted_seconds = known.predicted_seconds;
  const bool holds =
      device.profile() == known.profile && is_complete_on_return(plan.ends, request.stream);
  if (!holds) plan.ends.size_bytes = 0;
  return plan;
}

void PlanCache::note(const Plan& plan, const Request& request) const {
  const bool repeatable = plan.path == CopyPath::driver && plan.profile != nullptr &&
                          is_complete_on_return(plan.ends, request.stream);
  if (!repeatable || (plan.crossing.after_pause && !devices_.has_one())) return;
  // After a pause the driver is often the best path where others are for the copies that follow.
  KnownCopies& mine = copies_of_thread;
  KnownCopy& known =
      plan.crossing.after_pause ? mine.after_pause(plan.ends.target, plan.ends.source) : mine.last;
  known = {identity_,
           plan.ends.target,
           plan.ends.source,
           plan.crossing,
           plan.device->context().device().ordinal,
           plan.pinned_id,
           plan.profile,
           plan.predicted_seconds,
           clock_(),
           kTimesAgain};
}

}  // namespace isthmus::transfer
