// A paged array of which the GPU holds everything: what a kernel takes when there is nothing to look
// for.
//
//   __global__ void sum(const isthmus::paged_map* map, float* result) {
//     if (isthmus::holds_all(*map)) {
//       isthmus::held_array<float> array(*map);
//       add_items(array, result);
//     } else {
//       isthmus::paged_array<float> array(*map);
//       add_items(array, result);
//     }
//   }
#pragma once

#include <isthmus/paged_array.cuh>

namespace isthmus {

struct budgeted_map;  // an array with a budget never has all in one place

/// True if the GPU holds all of an array that has no budget, until the launch ends: a held_array
/// serves this lane then, as it does others that are ordered after it.
///
/// It becomes true by what was fetched before this launch, or when a prefetch ends beside it. Lanes of a
/// block that ask may be told different things.
template <typename Machine = paged::gpu_machine>
ISTHMUS_PAGED_CODE bool holds_all(const paged_map& map, const Machine& machine = Machine()) {
#ifdef ISTHMUS_PAGED_COUNTED
  (void)map, (void)machine;
  return false;  // hits are counted where units are looked at
#else
  if (machine.settled(map.all_settled) != 0) return true;
  return machine.relaxed(map.whole) != 0 && machine.acquire(map.whole) != 0;
#endif
}
template <typename Machine = paged::gpu_machine>
bool holds_all(const budgeted_map& map, const Machine& machine = Machine()) = delete;

/// One lane's view of an array of which the GPU holds all: see holds_all(). A load is one of plain
/// memory, so that the compiler issues several together; a store notes that its unit is dirty.
///
/// Otherwise as paged_array, whose members these are.
template <typename T, typename Machine = paged::gpu_machine>
class held_array : public paged::unit_checks<held_array<T, Machine>, T, Machine, paged_map> {
  using base = paged::unit_checks<held_array, T, Machine, paged_map>;
  using number = paged::number;

public:
  ISTHMUS_PAGED_CODE explicit held_array(const paged_map& map, const Machine& machine = Machine())
      : base(map, machine) {}
  explicit held_array(const paged_map&& map, const Machine& machine = Machine()) = delete;
  explicit held_array(const budgeted_map& map, const Machine& machine = Machine()) = delete;

  ISTHMUS_PAGED_CODE T load(number i) const {
    this->check(i);
    return machine_.read(items_ + i);
  }
  ISTHMUS_PAGED_CODE void store(number i, T value) {
    this->check(i);
    const paged::unit_number unit = this->unit_of(i);
    if (unit != this->dirty_) note(machine_.together(paged::kNoting), unit, true);
    this->dirty_ = unit;
    machine_.write(items_ + i, value);
  }
  ISTHMUS_PAGED_CODE paged_span<const T> span(number first, number count) const {
    this->check_range(first, count);
    return {items_ + first, count};
  }
  ISTHMUS_PAGED_CODE paged_span<T> writable(number first, number count) const {
    this->check_range(first, count);
    if (count != 0) note_run({this->unit_of(first), this->unit_of(first + count - 1) + 1});
    return {items_ + first, count};
  }
  ISTHMUS_PAGED_CODE paged_span<T> overwrite(number first, number count) const {
    return writable(first, count);
  }

private:
  using base::items_, base::machine_;

  using lanes = typename Machine::lanes;

  ISTHMUS_PAGED_CODE void note(lanes mask, number unit, bool stored) const {
    paged::note(machine_, this->map_.dirty, mask, static_cast<paged::unit_number>(unit), stored);
  }
  /// Lanes that have the same units share them.
  ISTHMUS_PAGED_CODE void note_run(const paged::unit_run& units) const {
    const lanes mask = machine_.together(paged::kEntering);
    if (this->is_for_all(mask, units)) {
      for (number i = units.begin; i < units.end; i += machine_.count(mask))
        note(mask, i + machine_.rank(mask), i + machine_.rank(mask) < units.end);
    } else {
      for (number unit = units.begin; unit < units.end; unit++)
        note(machine_.together(paged::kInRange), unit, true);
    }
  }
};

}  // namespace isthmus
