// Lanes of warps as threads, which must make the calls of a group together.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <isthmus/budgeted_array.cuh>

#include "paged_host.cuh"

namespace isthmus::lanes {

inline constexpr unsigned kLanes = 4;
using Mask = unsigned;

/// Thrown in all lanes of a group of which two have made different calls.
struct Apart {};

/// Where lanes of one warp meet: for a call of a group, and to find out who is in a group.
class Warp {
public:
  /// Lanes of `scope` that make this call rather than leave() are a group: its mask.
  Mask gather(Mask scope, unsigned lane) { return arrive(scope, lane, true); }
  void leave(Mask scope, unsigned lane) { arrive(scope, lane, false); }

  /// What all lanes of `mask` gave to the same call.
  std::array<std::uint64_t, kLanes> exchange(Mask mask, unsigned lane, const std::string& call,
                                             std::uint64_t value) {
    std::unique_lock lock(mutex_);
    Meeting& meeting = meetings_[mask];
    const std::uint64_t turn = meeting.turn;
    if (meeting.come == 0) meeting.call = call;
    if (meeting.call != call) {
      failure_ = meeting.call + " beside " + call;
      met_.notify_all();
    }
    meeting.values[lane] = value;
    meeting.come |= 1U << lane;
    if (meeting.come == mask) {
      meeting.result = meeting.values;
      meeting.come = 0;
      meeting.turn++;
      met_.notify_all();
    }
    wait(lock, meeting.turn, turn);
    return meeting.result;
  }

  std::string failure() {
    const std::scoped_lock lock(mutex_);
    return failure_;
  }

private:
  struct Meeting {
    std::uint64_t turn = 0;
    Mask come = 0;
    std::string call;
    std::array<std::uint64_t, kLanes> values{}, result{};
  };
  struct Scope {
    std::uint64_t turn = 0;
    Mask come = 0, group = 0, last_group = 0;
  };

  Mask arrive(Mask scope, unsigned lane, bool stays) {
    std::unique_lock lock(mutex_);
    Scope& own = scopes_[scope];
    const std::uint64_t turn = own.turn;
    own.come |= 1U << lane;
    if (stays) own.group |= 1U << lane;
    if (own.come == scope) {
      own.last_group = own.group;
      own.come = own.group = 0;
      own.turn++;
      met_.notify_all();
    }
    wait(lock, own.turn, turn);
    return own.last_group;
  }

  /// Throws Apart in all lanes once two of a group have made different calls: they wait for ever.
  void wait(std::unique_lock<std::mutex>& lock, const std::uint64_t& now, std::uint64_t turn) {
    met_.wait(lock, [&] { return now != turn || !failure_.empty(); });
    if (!failure_.empty()) throw Apart{};
  }

  std::mutex mutex_;
  std::condition_variable met_;
  std::map<Mask, Meeting> meetings_;
  std::map<Mask, Scope> scopes_;
  std::string failure_;
};

/// Where the lanes of a scope may meet in one operation, one after the other.
inline constexpr unsigned kMeetings = 4;
static_assert(paged::kComing == 0 && paged::kFinding == 1 && paged::kEntering == 2 &&
              paged::kNoting == 3);

/// One lane of a warp. Of `scope`, all lanes make the same operation at the same time.
class LaneMachine : public paged::host_words {
public:
  using lanes = Mask;
  using word = paged::word;
  using number = paged::number;
  using unit_number = paged::unit_number;

  /// num_met     how many meetings are behind the lane in this operation
  LaneMachine(Warp& warp, unsigned lane, Mask scope, unsigned& num_met)
      : warp_(&warp), lane_(lane), scope_(scope), num_met_(&num_met) {}

  /// In a range, a lane is alone: lanes need as many turns as they have units.
  lanes together(paged::meeting where) const {
    if (where == paged::kInRange) return 1U << lane_;
    leave_before(where);
    ++*num_met_;
    return warp_->gather(scope_, lane_);
  }
  /// Lets the others meet without this lane.
  void leave_before(unsigned meeting) const {
    for (; *num_met_ < meeting; ++*num_met_) warp_->leave(scope_, lane_);
  }
  static bool is_whole(lanes mask) { return mask == (1U << kLanes) - 1; }
  unsigned lane() const { return lane_; }
  static unsigned count(lanes mask) { return unsigned(__builtin_popcount(mask)); }
  static unsigned lowest(lanes mask) { return unsigned(__builtin_ctz(mask)); }
  unsigned rank(lanes mask) const { return count(mask & ((1U << lane_) - 1U)); }
  lanes ballot(lanes mask, bool value) const {
    const auto values = warp_->exchange(mask, lane_, "ballot", value);
    lanes set = 0;
    for (unsigned i = 0; i < kLanes; i++)
      if ((mask >> i & 1U) != 0 && values[i] != 0) set |= 1U << i;
    return set;
  }
  unit_number from_lane(lanes mask, unit_number value, unsigned lane) const {
    return unit_number(warp_->exchange(mask, lane_, "from_lane", value)[lane]);
  }
  lanes alike(lanes mask, unit_number value) const {
    const auto values = warp_->exchange(mask, lane_, "alike", value);
    lanes same = 0;
    for (unsigned i = 0; i < kLanes; i++)
      if ((mask >> i & 1U) != 0 && values[i] == value) same |= 1U << i;
    return same;
  }
  void sync(lanes mask) const { warp_->exchange(mask, lane_, "sync", 0); }

  static word settled(const word* at) { return *at; }
  static word glance(const word* at) { return relaxed(at); }
  word await(lanes mask, bool missing, const word* at, word bit) const {
    while (missing && (acquire(at) & bit) == 0) std::this_thread::yield();
    const word held = missing ? acquire(at) : 0;
    sync(mask);
    return held;
  }
  void fetch(const paged_map& map, lanes mask, lanes chosen, unit_number unit) const {
    copy(map, mask, chosen, unit, map.device, map.host);
  }
  void bring(const budgeted_map& map, lanes mask, lanes chosen, unit_number unit,
             word frame) const {
    copy(map, mask, chosen, unit, map.origin(frame, unit), map.host);
  }
  void send(const budgeted_map& map, lanes mask, lanes chosen, unit_number unit, word frame) const {
    copy(map, mask, chosen, unit, map.host, map.origin(frame, unit));
  }
  static void note_in_place(const void*, number) {}

private:
  void copy(const paged_map& map, lanes mask, lanes chosen, unit_number unit, unsigned char* target,
            const unsigned char* source) const {
    warp_->exchange(mask, lane_, "copy", chosen);
    if ((chosen >> lane_ & 1U) == 0) return;
    const paged::extent own = paged::extent_of(map, unit);
    std::memcpy(target + own.begin, source + own.begin, own.end - own.begin);
  }

  Warp* warp_;
  unsigned lane_;
  Mask scope_;
  unsigned* num_met_;
};

}  // namespace isthmus::lanes
