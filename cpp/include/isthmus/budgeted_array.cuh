// A budgeted array: a paged array that is larger than the GPU's memory for it.
//
// isthmus.PagedArray(source, device_bytes=B) makes a budgeted_map. In the kernel:
//
//   __global__ void sum(const isthmus::budgeted_map* map, float* result) {
//     isthmus::budgeted_array<float> array(*map);
//     atomicAdd(result, array.load(blockIdx.x * blockDim.x + threadIdx.x));
//   }
//
// The GPU's memory is divided into frames of one unit. A unit that a kernel comes to takes a free
// frame and is fetched. If no frame is free, it is in place for the rest of the launch: its items are
// read and stored in the host's memory. So nobody waits for a frame, and within a launch a unit goes
// only forward, as in paged_array.cuh: absent, busy, then valid, in a frame or in place. Frames become
// free between launches, by kernels/eviction.cuh. Reasons: docs/adr/0021-budgeted-arrays.md.
#pragma once

#include <isthmus/paged_array.cuh>

namespace isthmus {

/// What decides which frames are freed next. Written between launches, but for `head` and
/// `missed`.
struct budgeted_clock {
  paged::number head;       ///< frames that were given out so far, after a launch at most tail
  paged::number tail;       ///< frames that were free so far
  paged::number hand;       ///< the frame at which the clock goes on
  paged::number position;   ///< how many frames the clock has seen since then
  paged::number freed;      ///< by this sweep
  paged::number wanted;     ///< frames that it frees if they weren't used since the last sweep
  paged::number forced;     ///< frames that it frees in any case
  paged::number announced;  ///< units that will be asked for next
  paged::number num_free;   ///< frames that were free before the sweep
  paged::number missed;     ///< units that found no free frame since the last sweep
};

namespace paged {

/// Where position 0 would be if the array were contiguous around a unit's frame.
ISTHMUS_PAGED_SHARED unsigned char* origin(unsigned char* frames, number frame, number unit,
                                           unsigned int unit_shift) {
  return reinterpret_cast<unsigned char*>(reinterpret_cast<number>(frames) +
                                          ((frame - unit) << unit_shift));
}

/// Takes up to `count` of what a counter may still reach below `limit`, from number `at` on. Who finds
/// too few gives back what it has added beyond the limit: until then others find none, and there is
/// none. A loop of compare-and-exchange would let one group succeed in each microsecond.
template <typename Machine>
ISTHMUS_PAGED_CODE word take_up_to(const Machine& machine, number* counter, number limit,
                                   word count, number& at) {
  if (machine.relaxed(counter) >= limit) return 0;
  at = machine.take(counter, count);
  const number left = at < limit ? limit - at : 0;
  const word taken = left < count ? word(left) : count;
  if (taken < count) machine.take(counter, number(taken) - count);
  return taken;
}

}  // namespace paged

/// What a kernel is given of a budgeted array.
struct budgeted_map : paged_map {
  // A frame has one unit.
  static constexpr bool kHasParts = false;

  unsigned char* frames;  ///< [num_frames] of a unit each
  word* frame_of;         ///< [num_units] a valid unit's frame, if it isn't in place
  word* unit_in;          ///< [num_frames] the unit in a frame, or kNoUnit
  word* free_frames;      ///< [num_frames] a ring: number i is at i % num_frames
  word* in_place;         ///< a bit for each unit: its items are in the host's memory
  word* used;             ///< a bit for each unit: it was used since the clock came by
  word* named;            ///< a bit for each unit: it will be asked for next, so its frame is kept
  word* changed;          ///< null, or a bit for each unit: its items in the host's memory were
                          ///< stored to by kernels, without the host's side
  budgeted_clock* clock;
  number num_frames;

  ISTHMUS_PAGED_SHARED unsigned char* origin(number frame, number unit) const {
    return paged::origin(frames, frame, unit, unit_shift);
  }

  /// Gives a free frame to each unit of the lanes in `chosen`, as long as there are any, and fetches
  /// it. Gives the lanes whose units have a frame.
  template <typename Machine>
  ISTHMUS_PAGED_CODE typename Machine::lanes fill(const Machine& machine,
                                                  typename Machine::lanes mask,
                                                  typename Machine::lanes chosen, unsigned int unit,
                                                  bool overwrite) const {
    const unsigned leader = machine.lowest(chosen);
    word first = 0, num_free = 0;
    if (machine.lane() == leader && num_frames != 0)
      num_free = take_frames(machine, machine.count(chosen), first);
    first = machine.from_lane(mask, first, leader);
    num_free = machine.from_lane(mask, num_free, leader);
    const unsigned rank = machine.rank(chosen);
    const bool mine = (chosen >> machine.lane() & 1U) != 0;
    const bool held = mine && rank < num_free;
    const paged::place at = paged::place_of(mine ? unit : 0);
    word frame = 0;
    if (held) {
      frame = machine.plain(free_frames + (number(first) + rank) % num_frames);
      machine.set(frame_of + unit, frame);
      machine.set(unit_in + frame, unit);
      machine.or_relaxed(used + at.index, at.bit);
    } else if (mine) {
      machine.or_relaxed(in_place + at.index, at.bit);
    }
    const auto with_frame = machine.ballot(mask, held);
    if (machine.lane() == leader)
      machine.add(counters + paged::kInPlace, machine.count(chosen) - num_free);
    if (with_frame != 0 && !overwrite) machine.bring(*this, mask, with_frame, unit, frame);
    return with_frame;
  }

  /// Takes up to `count` free frames, the first of which is number `first` of the ring.
  template <typename Machine>
  ISTHMUS_PAGED_CODE word take_frames(const Machine& machine, word count, word& first) const {
    number at = 0;
    const word taken =
        paged::take_up_to(machine, &clock->head, machine.plain(&clock->tail), count, at);
    first = word(at % num_frames);
    if (taken < count) machine.take(&clock->missed, count - taken);
    return taken;
  }
};

namespace paged {

/// True if a unit is in place. Once seen, that holds for the launch; not seen, it says something only
/// after the unit's valid bit was acquired.
template <typename Machine>
ISTHMUS_PAGED_CODE bool is_in_place(const Machine& machine, const budgeted_map& map,
                                    unit_number unit) {
  const place at = place_of(unit);
  return (machine.relaxed(map.in_place + at.index) & at.bit) != 0;
}

/// Notes that the units of these lanes are stored to in the host's memory, if somebody wants to know.
///
/// A flush of other units takes these bits while kernels run, and a lane may see a bit set in its L1 cache
/// that was taken, and not note its unit again. The host's side knows the unit then, until a flush of this
/// very unit, which waits for the kernel first.
template <typename Machine>
ISTHMUS_PAGED_CODE void note_changed(const Machine& machine, const budgeted_map& map,
                                     typename Machine::lanes mask, unit_number unit, bool stored) {
  if (map.changed != nullptr) note(machine, map.changed, mask, unit, stored);
}

}  // namespace paged

/// Items of a budgeted array, as long as the launch lasts. Units lie apart from each other, so that
/// this isn't a pointer.
template <typename T, typename Machine>
class budgeted_span {
  using number = paged::number;
  using unit_number = paged::unit_number;

public:
  ISTHMUS_PAGED_CODE budgeted_span(const Machine& machine, const budgeted_map& map, number first,
                                   number count)
      : machine_(machine), map_(map), begin_(map.first_byte + first * sizeof(T)), count_(count) {}

  ISTHMUS_PAGED_CODE T& operator[](number i) {
    const number position = begin_ + i * sizeof(T);
    const auto unit = static_cast<unit_number>(position >> map_.unit_shift);
    if (unit != last_) {
      last_ = unit;
      origin_ = origin_of(unit);
    }
    return *reinterpret_cast<T*>(origin_ + position);
  }
  ISTHMUS_PAGED_CODE number size() const { return count_; }

private:
  // Every unit of the span is valid, and this lane is ordered after who made it so.
  ISTHMUS_PAGED_CODE unsigned char* origin_of(unit_number unit) const {
    const paged::place at = paged::place_of(unit);
    const bool settled = (machine_.settled(map_.settled + at.index) & at.bit) != 0;
    if (settled || !paged::is_in_place(machine_, map_, unit))
      return map_.origin(machine_.plain(map_.frame_of + unit), unit);
    machine_.note_in_place(map_.host + paged::extent_of(map_, unit).begin, sizeof(T));
    return map_.host;
  }

  const Machine machine_;
  const budgeted_map& map_;
  const number begin_, count_;
  unit_number last_ = paged::kNoUnit;
  unsigned char* origin_ = nullptr;
};

/// One lane's view of a budgeted array; what paged_array says holds here, too.
template <typename T, typename Machine = paged::gpu_machine>
class budgeted_array
    : public paged::unit_checks<budgeted_array<T, Machine>, T, Machine, budgeted_map> {
  using base = paged::unit_checks<budgeted_array, T, Machine, budgeted_map>;
  using number = paged::number;

public:
  ISTHMUS_PAGED_CODE explicit budgeted_array(const budgeted_map& map,
                                             const Machine& machine = Machine())
      : base(map, machine), frames_(map.frames), frame_of_(map.frame_of) {}
  explicit budgeted_array(const budgeted_map&& map, const Machine& machine = Machine()) = delete;

  /// The item, from the GPU's memory if its unit is in a frame or gets one, else from the host's.
  ISTHMUS_PAGED_CODE T load(number i) {
    come_to(i);
    const T value = machine_.read(item(i));
    note_use();
    return value;
  }

  /// Stores an item, to where load() reads it.
  ISTHMUS_PAGED_CODE void store(number i, T value) {
    come_to(i);
    if (this->last_ != dirty_) {
      dirty_ = this->last_;
      note_store(machine_.together(paged::kNoting), dirty_, true, in_place_);
    }
    machine_.write(item(i), value);
    note_use();
  }

  /// `count` items from `first`, to be read: one check for all of them. If all lanes of a warp ask
  /// for the same items, each of them checks a part.
  ISTHMUS_PAGED_CODE budgeted_span<const T, Machine> span(number first, number count) {
    this->enter_range(first, count, base::kRead);
    return {machine_, map_, first, count};
  }
  /// The same, to be read and written.
  ISTHMUS_PAGED_CODE budgeted_span<T, Machine> writable(number first, number count) {
    this->enter_range(first, count, base::kWrite);
    return {machine_, map_, first, count};
  }
  /// The same, to be written alone: the caller stores each of these items in this launch. Units that
  /// lie in it as a whole aren't fetched.
  ISTHMUS_PAGED_CODE budgeted_span<T, Machine> overwrite(number first, number count) {
    this->enter_range(first, count, base::kOverwrite);
    return {machine_, map_, first, count};
  }

private:
  friend class paged::unit_checks<budgeted_array, T, Machine, budgeted_map>;
  using unit_number = paged::unit_number;
  using base::dirty_, base::machine_, base::map_;

  /// Where an item of the last unit is.
  ISTHMUS_PAGED_CODE T* item(number i) const {
    T* const at = reinterpret_cast<T*>(origin_ + this->first_byte_) + i;
    if (in_place_) machine_.note_in_place(at, sizeof(T));
    return at;
  }
  /// Lets the clock know of the last unit, once, after the access: nobody waits for the bit.
  ISTHMUS_PAGED_CODE void note_use() {
    if (!unnoted_) return;
    unnoted_ = false;
    const paged::place at = paged::place_of(this->last_);
    if ((machine_.relaxed(map_.used + at.index) & at.bit) == 0)
      machine_.or_relaxed(map_.used + at.index, at.bit);
  }
  ISTHMUS_PAGED_CODE bool is_held(unit_number unit) const {
    if (!this->settled(unit)) return paged::is_in_place(machine_, map_, unit);
    const paged::place at = paged::place_of(unit);
    machine_.or_relaxed(map_.used + at.index, at.bit);  // without a look: nobody waits for it
    return true;
  }
  /// A unit is valid until the launch ends, so that the last one needs no look.
  ISTHMUS_PAGED_CODE void come_to(number i) {
    this->check(i);
    const unit_number unit = this->unit_of(i);
    if (unit == this->last_) return;
    find(unit);
    this->last_ = unit;
  }
  ISTHMUS_PAGED_CODE void find(unit_number unit) {
    unnoted_ = this->settled(unit);  // fill() notes others
    in_place_ = !unnoted_ && paged::is_in_place(machine_, map_, unit);
    if (!unnoted_ && !in_place_) {
      paged::make_valid(machine_, map_, machine_.together(paged::kEntering), unit, true,
                        paged::kNeeded);
      in_place_ = paged::is_in_place(machine_, map_, unit);
    }
    origin_ = in_place_ ? map_.host
                        : paged::origin(frames_, machine_.plain(frame_of_ + unit), unit,
                                        this->unit_shift_);
  }
  ISTHMUS_PAGED_CODE void note_store(typename Machine::lanes mask, unit_number unit,
                                     bool stored) const {
    note_store(mask, unit, stored, stored && paged::is_in_place(machine_, map_, unit));
  }
  ISTHMUS_PAGED_CODE void note_store(typename Machine::lanes mask, unit_number unit, bool stored,
                                     bool in_place) const {
    paged::note(machine_, map_.dirty, mask, unit, stored && !in_place);
    paged::note_changed(machine_, map_, mask, unit, stored && in_place);
  }

  // As in unit_checks, what each change of the unit needs.
  unsigned char* const frames_;
  const paged::word* const frame_of_;
  unsigned char* origin_ = nullptr;
  bool in_place_ = false, unnoted_ = false;
};

}  // namespace isthmus
