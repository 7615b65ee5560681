// A paged array: an array in host memory of which the GPU keeps the parts that its kernels touch.
//
// For nvcc and NVRTC, compute capability 7.0 or later. The host's side, isthmus.PagedArray, makes a
// paged_map, which is a kernel's argument. budgeted_array.cuh has arrays that are larger than the
// GPU's memory for them. In the kernel:
//
//   __global__ void sum(const isthmus::paged_map* map, float* result) {
//     isthmus::paged_array<float> array(*map);
//     atomicAdd(result, array.load(blockIdx.x * blockDim.x + threadIdx.x));
//   }
//
// Units of 256 bytes to 2 MiB are absent (the host's bytes count), busy (one group of lanes fetches
// it from mapped host memory, others wait), or valid (the device's bytes count), and dirty if they
// were stored to. Within a launch a unit goes only forward; invalidate() and flush() are ordered with
// kernels by the stream. Reasons and memory orders: docs/adr/0019-paged-arrays.md. cpp/tests/paged
// explores every interleaving of this code for two and three warps.
#pragma once

#include <isthmus/paged_machine.cuh>

namespace isthmus {

/// Items that the GPU holds: plain memory, as long as the launch lasts.
template <typename T>
struct paged_span {
  T* data;
  unsigned long long count;

  ISTHMUS_PAGED_CODE T& operator[](unsigned long long i) const {
    return *paged::in_global(data + i);
  }
  ISTHMUS_PAGED_CODE T* begin() const { return data; }
  ISTHMUS_PAGED_CODE T* end() const { return data + count; }
  ISTHMUS_PAGED_CODE unsigned long long size() const { return count; }
};

namespace paged {

/// Why units are made valid.
enum request {
  kNeeded,      ///< they were missed: the rest of a large unit comes, too
  kNamed,       ///< they were named
  kOverwritten  ///< they aren't fetched: the caller stores all their items in this launch
};

/// Brings the other parts of the large units of the lanes in `asking`, all lanes of `mask` together. A
/// bit has 4 KiB of such a unit. Few parts are claimed at once, so that several warps share a unit, and
/// each is published before more are claimed.
template <typename Machine>
ISTHMUS_PAGED_CODE void bring_rest(const Machine& machine, const paged_map& map,
                                   typename Machine::lanes mask, typename Machine::lanes asking,
                                   unit_number unit) {
  const unsigned at_once = machine.count(mask) < 4 ? machine.count(mask) : 4;
  while (asking != 0) {
    const unit_number asked = machine.from_lane(mask, unit, machine.lowest(asking));
    asking &= ~machine.ballot(mask, (unit ^ asked) >> map.parts_shift == 0);
    for (unsigned i = machine.rank(mask); machine.ballot(mask, i >> map.parts_shift == 0) != 0;
         i += at_once) {
      const unit_number part = asked ^ i;
      const place at = place_of(part);
      const bool won = machine.rank(mask) < at_once && i >> map.parts_shift == 0 &&
                       part < map.num_units() &&
                       (machine.relaxed(map.busy + at.index) & at.bit) == 0 &&
                       (machine.or_relaxed(map.busy + at.index, at.bit) & at.bit) == 0;
      const auto chosen = machine.ballot(mask, won);
      if (chosen == 0) continue;
      machine.fetch(map, mask, chosen, part);
      machine.sync(mask);
      if (!won) continue;
      machine.or_release(map.valid + at.index, at.bit);
      machine.add(map.counters + kFetched, 1);
    }
  }
}

/// Makes the units of the lanes in `mask` valid: what the lanes read afterwards was fetched. A group
/// that has claimed waits for nobody until it has published: none wait for each other in a circle.
///
/// machine     a value: where one has an address, the compiler keeps its array in memory
/// wanted      false: this lane has no unit, and helps
/// Returns     bits of valid units, of the word that has the unit's: the lane is ordered after who made
///             them so
template <typename Machine, typename Map>
ISTHMUS_PAGED_APART word make_valid(const Machine machine, const Map& map,
                                    typename Machine::lanes mask, unit_number unit, bool wanted,
                                    request how) {
  const place at = place_of(wanted ? unit : 0);
  // Who is to claim a unit needs no acquire, which would empty the L1 cache.
  const bool claimed = wanted && (machine.relaxed(map.busy + at.index) & at.bit) != 0;
  const word held = claimed ? machine.acquire(map.valid + at.index) : 0;
  bool missing = wanted && (held & at.bit) == 0;
#ifdef ISTHMUS_PAGED_COUNTED
  if (wanted && !missing) machine.add(map.counters + kHits, 1);
#endif
  const auto short_of = machine.ballot(mask, missing);
  if (short_of == 0) return held;
  // One lane claims for all lanes with its unit.
  unsigned leader = machine.lane();
  if (missing) leader = machine.lowest(machine.alike(short_of, unit));
  const bool won = missing && !claimed && leader == machine.lane() &&
                   (machine.or_relaxed(map.busy + at.index, at.bit) & at.bit) == 0;
  const auto chosen = machine.ballot(mask, won);
  if (chosen != 0) {
    const auto filled = map.fill(machine, mask, chosen, unit, how == kOverwritten);
    machine.sync(mask);
    if (won) machine.or_release(map.valid + at.index, at.bit);
    if (machine.lane() == machine.lowest(mask))
      machine.add(map.counters + (how == kOverwritten ? kWhole : kFetched), machine.count(filled));
    missing = missing && (chosen >> leader & 1U) == 0;
    machine.sync(mask);  // nobody waits before all has been published
    if constexpr (Map::kHasParts)
      if (how == kNeeded && map.parts_shift != 0) bring_rest(machine, map, mask, chosen, unit);
  }
  const word awaited = machine.await(mask, missing, map.valid + at.index, at.bit);
  if (!wanted) return 0;
  return missing ? awaited : held | at.bit;
}

/// Sets the bits of the units of the lanes in `mask` of which `wanted` is true: who reads them does so
/// after the launch.
///
/// One lane does it for all lanes of its group: a GPU makes atomic operations on one word one after
/// the other, and 256 lanes store to a unit of 1 KiB of floats.
template <typename Machine>
ISTHMUS_PAGED_CODE void note(const Machine& machine, word* bits, typename Machine::lanes mask,
                             unit_number unit, bool wanted) {
  const place at = place_of(wanted ? unit : 0);
  const bool unset = wanted && (machine.glance(bits + at.index) & at.bit) == 0;
  const auto noting = machine.ballot(mask, unset);
  if (unset && machine.lane() == machine.lowest(machine.alike(noting, unit)))
    machine.or_relaxed(bits + at.index, at.bit);
}

/// Units of one word of the maps that a lane may access without a look: they are valid until the launch
/// ends, and the lane is ordered after who made them so.
struct known_units {
  word index = ~word(0), bits = 0;

  ISTHMUS_PAGED_CODE bool has(const place& at) const {
    return at.index == index && (bits & at.bit) != 0;
  }
};

/// What one lane knows of an array's units. `Array` derives from it, and has
///
/// is_held(unit)       a lane comes to it: true if it was valid before this launch
/// note_store(mask, unit, stored)    items of these lanes' units will be stored to, if `stored`
template <typename Array, typename T, typename Machine, typename Map>
class unit_checks {
protected:
  using lanes = typename Machine::lanes;
  enum access { kRead, kWrite, kOverwrite };

  ISTHMUS_PAGED_CODE unit_checks(const Map& map, const Machine& machine)
      : map_(map),
        machine_(machine),
        items_(reinterpret_cast<T*>(map.device + map.first_byte)),
        settled_(map.settled),
        first_byte_(static_cast<unsigned int>(map.first_byte)),
        unit_shift_(map.unit_shift) {}

public:
  ISTHMUS_PAGED_CODE number size() const { return (map_.end_byte - map_.first_byte) / sizeof(T); }

protected:
#ifdef ISTHMUS_PAGED_CHECKED
  ISTHMUS_PAGED_CODE void check(number i) const { machine_.require(map_, i, size()); }
#else
  ISTHMUS_PAGED_CODE void check(number) const {}
#endif
  ISTHMUS_PAGED_CODE void check_range(number first, number count) const {
    if (count != 0) check(first + count - 1);
  }
  ISTHMUS_PAGED_CODE unit_number unit_of(number i) const {
    return static_cast<unit_number>((first_byte_ + i * sizeof(T)) >> unit_shift_);
  }
  /// True if the unit was valid before this launch: an ordinary load.
  ISTHMUS_PAGED_CODE bool settled(unit_number unit) const {
    const place at = place_of(unit);
    return (settled_around(at) & at.bit) != 0;
  }
  /// Bits of units that were, of the word with a unit's.
  ISTHMUS_PAGED_CODE word settled_around(const place& at) const {
    const word held = machine_.settled(settled_ + at.index);
#ifdef ISTHMUS_PAGED_COUNTED
    if ((held & at.bit) != 0) machine_.add(map_.counters + kHits, 1);
#endif
    return held;
  }

  ISTHMUS_PAGED_CODE void enter_range(number first, number count, access how) {
    if (count == 0) return;
    check_range(first, count);
    const unit_run units{unit_of(first), unit_of(first + count - 1) + 1};
    const lanes mask = machine_.together(kEntering);
    if (is_for_all(mask, units)) {
      enter_together(mask, units, how, first, count);
    } else {
      for (unit_number unit = units.begin; unit < units.end; unit++)
        enter_alone(unit, how, first, count);
    }
  }
  /// True if these lanes are a whole warp, and all of them want the same units.
  ISTHMUS_PAGED_CODE bool is_for_all(lanes mask, const unit_run& units) const {
    if (!machine_.is_whole(mask)) return false;
    const unsigned leader = machine_.lowest(mask);
    // Two calls that all lanes make, whatever the first one says.
    const unit_number its_begin = machine_.from_lane(mask, units.begin, leader);
    const unit_number its_end = machine_.from_lane(mask, units.end, leader);
    const bool alike = its_begin == units.begin && its_end == units.end;
    return machine_.ballot(mask, alike) == mask;
  }

  /// Each lane comes to some of the units, and helps others to fetch theirs.
  ISTHMUS_PAGED_CODE void enter_together(lanes mask, const unit_run& units, access how,
                                         number first, number count) {
    for (number i = units.begin; i < units.end; i += machine_.count(mask)) {
      const auto unit = static_cast<unit_number>(i + machine_.rank(mask));
      const bool wanted = i + machine_.rank(mask) < units.end;
      const bool open = wanted && !self().is_held(unit);
      const bool whole = how == kOverwrite && open && is_within(unit, first, count);
      if (machine_.ballot(mask, open) != 0) {
        if (how == kOverwrite) make_valid(machine_, map_, mask, unit, whole, kOverwritten);
        make_valid(machine_, map_, mask, unit, open && !whole, kNeeded);
      }
      if (how != kRead) self().note_store(mask, unit, wanted);
    }
    machine_.sync(mask);  // what one lane acquired, all may read
  }
  ISTHMUS_PAGED_CODE void enter_alone(unit_number unit, access how, number first, number count) {
    if (!self().is_held(unit)) {
      if (how == kOverwrite && is_within(unit, first, count))
        make_valid(machine_, map_, machine_.together(kInRange), unit, true, kOverwritten);
      else
        make_valid(machine_, map_, machine_.together(kInRange), unit, true, kNeeded);
    }
    if (how != kRead) self().note_store(machine_.together(kInRange), unit, true);
  }
  ISTHMUS_PAGED_CODE bool is_within(unit_number unit, number first, number count) const {
    const extent own = extent_of(map_, unit);
    const number begin = first_byte_ + first * sizeof(T);
    return begin <= own.begin && own.end <= begin + count * sizeof(T);
  }

  const Map& map_;
  const Machine machine_;
  // What each access needs is in registers; the rest is read when a unit is missing.
  T* const items_;
  const word* const settled_;
  const unsigned int first_byte_, unit_shift_;
  unit_number last_ = kNoUnit, dirty_ = kNoUnit;

private:
  ISTHMUS_PAGED_CODE Array& self() { return static_cast<Array&>(*this); }
};

}  // namespace paged

/// One lane's view of a paged array of T, whose size is 1, 2, 4, 8 or 16 bytes.
///
/// Each thread makes its own. Any launch shape and divergence are allowed. Items are as plain memory:
/// the caller orders accesses of different lanes to one item, of which one is a store. An index
/// >= size() reads or writes foreign memory; with ISTHMUS_PAGED_CHECKED defined, it ends the kernel
/// with a message that names the index and the array.
template <typename T, typename Machine = paged::gpu_machine>
class paged_array : public paged::unit_checks<paged_array<T, Machine>, T, Machine, paged_map> {
  using base = paged::unit_checks<paged_array, T, Machine, paged_map>;
  using number = paged::number;

public:
  ISTHMUS_PAGED_CODE explicit paged_array(const paged_map& map, const Machine& machine = Machine())
      : base(map, machine), all_held_(holds_all()) {}
  explicit paged_array(const paged_map&& map, const Machine& machine = Machine()) = delete;

  /// The item, fetched if the GPU doesn't hold it.
  ISTHMUS_PAGED_CODE T load(number i) {
    this->check(i);
    if (!all_held_) come_to(this->unit_of(i));
    return machine_.read(items_ + i);
  }

  /// Stores an item; its unit is fetched first if the GPU doesn't hold it.
  ISTHMUS_PAGED_CODE void store(number i, T value) {
    this->check(i);
    const unit_number unit = this->unit_of(i);
    if (!all_held_) come_to(unit);
    if (unit != dirty_) {
      note_store(machine_.together(paged::kNoting), unit, true);
      dirty_ = unit;
    }
    machine_.write(items_ + i, value);
  }

  /// `count` items from `first` as plain memory, to be read: one check for all of them. If all lanes
  /// of a warp ask for the same items, each of them checks a part.
  ISTHMUS_PAGED_CODE paged_span<const T> span(number first, number count) {
    if (all_held_)
      this->check_range(first, count);
    else
      this->enter_range(first, count, base::kRead);
    return {items_ + first, count};
  }
  /// The same, to be read and written.
  ISTHMUS_PAGED_CODE paged_span<T> writable(number first, number count) {
    this->enter_range(first, count, base::kWrite);
    return {items_ + first, count};
  }
  /// The same, to be written alone: the caller stores each of these items in this launch. Units that
  /// lie in it as a whole aren't fetched.
  ISTHMUS_PAGED_CODE paged_span<T> overwrite(number first, number count) {
    this->enter_range(first, count, base::kOverwrite);
    return {items_ + first, count};
  }

private:
  friend class paged::unit_checks<paged_array, T, Machine, paged_map>;
  using unit_number = paged::unit_number;
  using base::items_, base::machine_, base::map_, base::dirty_;

  /// True if all units were valid before this launch: then none is looked at.
  ISTHMUS_PAGED_CODE bool holds_all() const {
#ifdef ISTHMUS_PAGED_COUNTED
    return false;  // hits are counted where units are looked at
#else
    return machine_.settled(map_.all_settled) != 0;
#endif
  }
  ISTHMUS_PAGED_CODE void come_to(unit_number unit) {
    bool known = true;
    if (unit != this->last_ && unit != before_) {
      known = knows(unit);
      before_ = this->last_;
      this->last_ = unit;
    }
    // Lanes that know theirs help: a lane alone takes 32 round trips for 1 KiB.
    if (machine_.ballot(machine_.together(paged::kComing), !known) != 0) find(unit, !known);
  }
  ISTHMUS_PAGED_CODE bool knows(unit_number unit) const {
    const paged::place at = paged::place_of(unit);
    return recent_.has(at) || earlier_.has(at) || unit == dirty_;
  }
  ISTHMUS_PAGED_CODE bool is_held(unit_number unit) const { return this->settled(unit); }
  /// wanted      false: this lane knows its unit, and helps
  ISTHMUS_PAGED_CODE void find(unit_number unit, bool wanted) {
    const paged::place at = paged::place_of(unit);
    paged::word held = wanted ? this->settled_around(at) : 0;
    const bool open = wanted && (held & at.bit) == 0;
    if (machine_.ballot(machine_.together(paged::kFinding), open) != 0) {
      const paged::word found = paged::make_valid(
          machine_, map_, machine_.together(paged::kEntering), unit, open, paged::kNeeded);
      if (open) held = found;
    }
    if (wanted) remember(at, held);
  }
  /// Two words, because loads of two arrays in turns come to two places in turns.
  ISTHMUS_PAGED_CODE void remember(const paged::place& at, paged::word held) {
#ifdef ISTHMUS_PAGED_COUNTED
    earlier_ = recent_;  // a unit that a lane comes to again is counted again
    recent_ = {at.index, at.bit & held};
#else
    if (recent_.index != at.index) {
      const paged::known_units before = recent_;
      recent_ = earlier_.index == at.index ? earlier_ : paged::known_units{at.index, 0};
      earlier_ = before;
    }
    recent_.bits |= held;
#endif
  }
  ISTHMUS_PAGED_CODE void note_store(typename Machine::lanes mask, unit_number unit,
                                     bool stored) const {
    paged::note(machine_, map_.dirty, mask, unit, stored);
  }

  const bool all_held_;
  unit_number before_ = paged::kNoUnit;  ///< the one before last_
  paged::known_units recent_, earlier_;
};

}  // namespace isthmus
