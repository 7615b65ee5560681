// Hash join: inserts the rows of one table into a hash table with open addressing, then looks up
// the keys of another table. One thread for each row.
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

struct HashJoinArguments {
  Array<unsigned> build_keys;  ///< distinct, none 0
  Array<unsigned> build_values;
  Array<unsigned> slots;        ///< keys; 0: empty. Their number is a power of two
  Array<unsigned> slot_values;  ///< like slots
  Array<unsigned> probe_keys;
  Array<unsigned> results;  ///< for each probe the value of its key; 0: not found
};

// Instructions of a thread, counted in the source.
inline constexpr unsigned kHashJoinRow = 14;  ///< index, hash
inline constexpr unsigned kHashJoinTry = 7;

/// The first slot to probe: Knuth's multiplicative hash, upper bits.
inline unsigned hash_join_slot(unsigned key, unsigned num_slots) {
  return (key * 2654435769U >> 7U) & (num_slots - 1);
}

template <class Cta>
void hash_join_build(Cta& cta, const HashJoinArguments& in) {
  const auto num_slots = static_cast<unsigned>(in.slots.num_elements);
  cta.each_warp([&](auto& warp) {
    const auto row = warp.thread() + cta.index() * cta.num_threads();
    const auto key = warp.load(in.build_keys, row);
    const auto value = warp.load(in.build_values, row);
    auto slot = warp.map([=](unsigned k) { return hash_join_slot(k, num_slots); }, key);
    auto is_placed = warp.lanes(0U);
    warp.compute(kHashJoinRow);
    warp.loop([&] { return is_placed == 0; },
              [&] {
                warp.compute(kHashJoinTry);
                const auto before =
                    warp.atomic_compare_exchange(in.slots, slot, warp.lanes(0U), key);
                warp.when(before == 0, [&] {
                  warp.store(in.slot_values, slot, value);
                  warp.set(is_placed, 1U);
                });
                warp.set(slot, (slot + 1) & (num_slots - 1));
              });
  });
}

template <class Cta>
void hash_join_probe(Cta& cta, const HashJoinArguments& in) {
  const auto num_slots = static_cast<unsigned>(in.slots.num_elements);
  cta.each_warp([&](auto& warp) {
    const auto row = warp.thread() + cta.index() * cta.num_threads();
    const auto key = warp.load(in.probe_keys, row);
    auto slot = warp.map([=](unsigned k) { return hash_join_slot(k, num_slots); }, key);
    auto is_done = warp.lanes(0U);
    auto result = warp.lanes(0U);
    warp.compute(kHashJoinRow);
    warp.loop([&] { return is_done == 0; },
              [&] {
                warp.compute(kHashJoinTry);
                const auto found = warp.load(in.slots, slot);
                warp.when(found == key, [&] { warp.set(result, warp.load(in.slot_values, slot)); });
                warp.when((found == key) | (found == 0), [&] { warp.set(is_done, 1U); });
                warp.set(slot, (slot + 1) & (num_slots - 1));
              });
    warp.store(in.results, row, result);
  });
}

}  // namespace isthmus::workloads
