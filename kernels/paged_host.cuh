// What machines of paged arrays on a CPU share: the emulated driver's, and those of cpp/tests/paged.
#pragma once

#include "isthmus/paged_array.cuh"

namespace isthmus::paged {

/// A warp of one lane, or one that a lane stands for.
struct one_lane {
  using lanes = unsigned int;

  static lanes together(meeting) { return 1; }
  static bool is_whole(lanes) { return true; }
  static unsigned lane() { return 0; }
  static unsigned count(lanes mask) { return mask; }
  static unsigned lowest(lanes) { return 0; }
  static unsigned rank(lanes) { return 0; }
  static lanes ballot(lanes, bool value) { return value ? 1 : 0; }
  static unit_number from_lane(lanes, unit_number value, unsigned) { return value; }
  static lanes alike(lanes mask, unit_number) { return mask; }
  static void sync(lanes) {}
};

/// Words and items in memory that threads of the CPU share.
struct host_words {
  static word acquire(const word* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
  template <typename Value>
  static Value relaxed(const Value* at) {
    return __atomic_load_n(at, __ATOMIC_RELAXED);
  }
  static word or_relaxed(word* at, word bits) {
    return __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
  }
  static void or_release(word* at, word bits) { __atomic_fetch_or(at, bits, __ATOMIC_RELEASE); }
  static void and_relaxed(word* at, word bits) { __atomic_fetch_and(at, bits, __ATOMIC_RELAXED); }
  static word exchange(word* at, word value) {
    return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
  }
  static void add(number* at, number increment) {
    __atomic_fetch_add(at, increment, __ATOMIC_RELAXED);
  }
  static number take(number* at, number count) {
    return __atomic_fetch_add(at, count, __ATOMIC_RELAXED);
  }
  template <typename Value>
  static Value plain(const Value* at) {
    return *at;
  }
  template <typename Value>
  static void set(Value* at, Value value) {
    *at = value;
  }
  template <typename T>
  static T read(const T* at) {
    return *at;
  }
  template <typename T>
  static void write(T* at, T value) {
    *at = value;
  }
};

}  // namespace isthmus::paged
