// The interface that kernels are written against. A kernel is a template over a CTA:
//
//   template <class Cta>
//   void double_all(Cta& cta, const Array<float>& data) {
//     cta.each_warp([&](auto& warp) {
//       const auto index = warp.thread() + cta.index() * cta.num_threads();
//       warp.compute(5);                                    // the cost of the line above
//       warp.when(index < static_cast<unsigned>(data.num_elements), [&] {
//         const auto value = warp.load(data, index);
//         warp.compute(1);
//         warp.store(data, index, value + value);
//       });
//     });
//   }
//
// On the host (here) a warp is 32 lanes in lockstep: values are Lanes, conditions are Mask, and
// every access is recorded. On a GPU a warp is one thread: values are T, conditions are bool,
// `when` is `if`, `each_warp` runs its body once, `barrier` is __syncthreads(). So a kernel:
//   - includes no standard headers, uses `auto` for values that differ between lanes, and `set` to
//     change a variable from outside a `when` or `loop` (plain = would change idle lanes too);
//   - uses plain `if`, `for` and `while` only with values that are the same in all lanes;
//   - keeps values that live across a barrier in per_warp(), since on the host a CTA's warps run
//     one after another, from barrier to barrier;
//   - reports the cost of its arithmetic with compute(), in instructions of one thread; an access
//     is itself one instruction.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "workloads/recording/array.hpp"
#include "workloads/recording/lanes.hpp"
#include "workloads/recording/warp_log.hpp"

namespace isthmus::workloads {

using trace::OpKind;

/// Per-thread memory in DRAM: arrays that don't fit into registers. 4-byte words; all lanes use the
/// same index at a time.
template <class T, std::uint32_t NumWords>
struct LocalArray {
  static_assert(sizeof(T) == 4);
  std::uint32_t first_word = 0;
  std::vector<Lanes<T>> values = std::vector<Lanes<T>>(NumWords);
};

/// 32 threads of a CTA in lockstep.
class Warp {
public:
  Warp(WarpLog& log, std::uint32_t index, Mask active)
      : log_(&log), index_(index), active_(active) {}

  std::uint32_t index() const { return index_; }

  /// Each lane's number within the warp.
  Lanes<std::uint32_t> lane() const { return thread() % kNumLanes; }

  /// The sum over all active lanes, in all lanes. On a GPU all lanes must be active. Adds pairs of
  /// lanes 16 apart first, then 8 apart, and so on.
  template <class T>
  Lanes<T> sum_of_lanes(const Lanes<T>& value) const {
    Lanes<T> sum = select(active_, value, Lanes<T>());
    for (std::uint32_t apart = kNumLanes / 2; apart > 0; apart /= 2) {
      const Lanes<T> before = sum;
      for (std::uint32_t lane = 0; lane < kNumLanes; ++lane)
        sum[lane] = before[lane] + before[lane ^ apart];
    }
    return sum;
  }

  /// Each lane's thread number within the CTA.
  Lanes<std::uint32_t> thread() const {
    Lanes<std::uint32_t> result;
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) result[lane] = index_ * kNumLanes + lane;
    return result;
  }

  /// A variable: `uniform` in every lane.
  template <class T>
  Lanes<T> lanes(const T& uniform) const {
    return Lanes<T>(uniform);
  }

  /// Counts instructions of arithmetic and control flow that are executed here.
  void compute(std::uint32_t num_instructions) { log_->compute(num_instructions, active_); }

  /// Returns function(a[lane], b[lane], ...) for every lane. Also runs in idle lanes, with any
  /// values.
  template <class Function, class... T>
  auto map(Function function, const Lanes<T>&... inputs) const {
    Lanes<decltype(function(inputs[0]...))> result;
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) result[lane] = function(inputs[lane]...);
    return result;
  }

  /// Like map, for a function that returns a bool.
  template <class Function, class... T>
  Mask test(Function function, const Lanes<T>&... inputs) const {
    return {bits_where([&](std::uint32_t lane) { return function(inputs[lane]...); })};
  }

  template <class T>
  Lanes<T> select(Mask mask, const Lanes<T>& where_true, const Lanes<T>& where_false) const {
    Lanes<T> result;
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane)
      result[lane] = (mask.bits >> lane & 1U) != 0 ? where_true[lane] : where_false[lane];
    return result;
  }

  /// Changes a variable in the active lanes.
  template <class T>
  void set(Lanes<T>& target, const Lanes<T>& value) const {
    target = select(active_, value, target);
  }
  template <class T>
  void set(Lanes<T>& target, const T& value) const {
    set(target, Lanes<T>(value));
  }

  /// Whether the condition holds in any active lane. On a GPU: in this thread.
  bool any(Mask mask) const { return (mask.bits & active_.bits) != 0; }

  /// `if`: runs the body in the lanes of the mask, unless there are none.
  template <class Body>
  void when(Mask mask, Body body) {
    const Mask outer = active_;
    active_ = outer & mask;
    if (active_.bits != 0) body();
    active_ = outer;
  }

  /// `if` and `else`, one after the other if lanes differ.
  template <class Body, class Otherwise>
  void when(Mask mask, Body body, Otherwise otherwise) {
    when(mask, body);
    when(!mask, otherwise);
  }

  /// `while`: each lane leaves when its condition fails; the others go on.
  template <class Condition, class Body>
  void loop(Condition condition, Body body) {
    const Mask outer = active_;
    while (true) {
      active_ = active_ & condition();
      if (active_.bits == 0) break;
      body();
    }
    active_ = outer;
  }

  template <class T>
  Lanes<T> load(const Array<T>& array, const Lanes<std::uint32_t>& index) {
    access(OpKind::load, array, index);
    return gather(array, index);
  }

  /// If several lanes store to one element, the last one wins.
  template <class T>
  void store(const Array<T>& array, const Lanes<std::uint32_t>& index, const Lanes<T>& value) {
    access(OpKind::store, array, index);
    each_active([&](std::uint32_t lane) { array.values[index[lane]] = value[lane]; });
  }

  /// Adds lane by lane; returns the old values.
  template <class T>
  Lanes<T> atomic_add(const Array<T>& array, const Lanes<std::uint32_t>& index,
                      const Lanes<T>& value) {
    return atomic(array, index, [&](T& element, std::uint32_t lane) {
      element = static_cast<T>(element + value[lane]);
    });
  }

  /// Stores the smaller of the element and `value`, lane by lane; returns the old values.
  template <class T>
  Lanes<T> atomic_min(const Array<T>& array, const Lanes<std::uint32_t>& index,
                      const Lanes<T>& value) {
    return atomic(array, index, [&](T& element, std::uint32_t lane) {
      if (value[lane] < element) element = value[lane];
    });
  }

  /// Stores `value` if the element is `expected`, lane by lane; returns the old values.
  template <class T>
  Lanes<T> atomic_compare_exchange(const Array<T>& array, const Lanes<std::uint32_t>& index,
                                   const Lanes<T>& expected, const Lanes<T>& value) {
    return atomic(array, index, [&](T& element, std::uint32_t lane) {
      if (element == expected[lane]) element = value[lane];
    });
  }

  /// Constant and shared memory: no lines. Count the instruction with compute().
  template <class T>
  Lanes<T> read(const T* values, const Lanes<std::uint32_t>& index) const {
    Lanes<T> result;
    each_active([&](std::uint32_t lane) { result[lane] = values[index[lane]]; });
    return result;
  }
  template <class T>
  void write(T* values, const Lanes<std::uint32_t>& index, const Lanes<T>& value) const {
    each_active([&](std::uint32_t lane) { values[index[lane]] = value[lane]; });
  }

  /// A local array of this section (each_warp), placed behind the section's earlier ones.
  template <class T, std::uint32_t NumWords>
  LocalArray<T, NumWords> local() {
    num_local_words_ += NumWords;
    return {.first_word = num_local_words_ - NumWords};
  }
  template <class T, std::uint32_t NumWords>
  Lanes<T> load(const LocalArray<T, NumWords>& array, std::uint32_t word) {
    log_->access_one(OpKind::local_load, array.first_word + word, active_);
    return array.values[word];
  }
  template <class T, std::uint32_t NumWords>
  void store(LocalArray<T, NumWords>& array, std::uint32_t word, const Lanes<T>& value) {
    log_->access_one(OpKind::local_store, array.first_word + word, active_);
    set(array.values[word], value);
  }

private:
  template <class Body>
  void each_active(Body body) const {
    if (active_.bits == ~0U) {
      for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) body(lane);
      return;
    }
    for (std::uint32_t left = active_.bits; left != 0; left &= left - 1)
      body(static_cast<std::uint32_t>(std::countr_zero(left)));
  }

  template <class T>
  Lanes<T> gather(const Array<T>& array, const Lanes<std::uint32_t>& index) const {
    Lanes<T> result;
    each_active([&](std::uint32_t lane) { result[lane] = array.values[index[lane]]; });
    return result;
  }

  template <class T, class Change>
  Lanes<T> atomic(const Array<T>& array, const Lanes<std::uint32_t>& index, Change change) {
    access(OpKind::atomic, array, index);
    Lanes<T> before;
    each_active([&](std::uint32_t lane) {
      T& element = array.values[index[lane]];
      before[lane] = element;
      change(element, lane);
    });
    return before;
  }

  template <class T>
  void access(OpKind kind, const Array<T>& array, const Lanes<std::uint32_t>& index) {
    // No element may straddle two lines: arrays begin at multiples of 256.
    static_assert((sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= trace::kLineBytes);
    if (active_.bits == 0) return;
    constexpr std::uint32_t per_line = trace::kLineBytes / sizeof(T);
    const auto first = static_cast<std::uint32_t>(array.address / trace::kLineBytes);
    std::uint32_t lines[kNumLanes];
    for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
      assert((active_.bits >> lane & 1U) == 0 || index[lane] < array.num_elements);
      lines[lane] = first + index[lane] / per_line;
    }
    log_->access(kind, lines, active_);
  }

  WarpLog* log_;
  std::uint32_t index_;
  Mask active_;
  std::uint32_t num_local_words_ = 0;
};

/// A CTA on the host: its warps run one after another, each from barrier to barrier.
class Cta {
public:
  /// index       within the launch
  Cta(std::uint32_t index, std::uint32_t num_threads, std::vector<WarpLog>& logs)
      : index_(index), num_threads_(num_threads), logs_(&logs) {}

  std::uint32_t index() const { return index_; }
  std::uint32_t num_threads() const { return num_threads_; }
  std::uint32_t num_warps() const { return (num_threads_ + kNumLanes - 1) / kNumLanes; }

  /// Runs body(warp) in every warp.
  template <class Body>
  void each_warp(Body body) {
    for (std::uint32_t index = 0; index < num_warps(); ++index) {
      Warp warp((*logs_)[index], index, threads_of(index));
      body(warp);
    }
  }

  /// All warps of the CTA wait for each other.
  void barrier() {
    for (std::uint32_t index = 0; index < num_warps(); ++index)
      (*logs_)[index].without_lines(OpKind::barrier, threads_of(index));
  }

  /// Shared memory. Lives as long as the CTA; zeroed here, but not on a GPU.
  template <class T>
  T* shared(std::size_t num_elements) {
    shared_.emplace_back(new std::byte[num_elements * sizeof(T)]());
    return reinterpret_cast<T*>(shared_.back().get());
  }

  /// A State for each warp, accessed by [warp.index()]: registers that live across barriers. On a
  /// GPU there is one State, for any index. State's members are Cta::Value<T> and Cta::Condition.
  template <class State>
  std::vector<State> per_warp() const {
    return std::vector<State>(num_warps());
  }
  template <class T>
  using Value = Lanes<T>;
  using Condition = Mask;

private:
  Mask threads_of(std::uint32_t warp) const {
    const std::uint32_t num_threads = num_threads_ - warp * kNumLanes;
    return {num_threads >= kNumLanes ? ~0U : (1U << num_threads) - 1};
  }

  std::uint32_t index_;
  std::uint32_t num_threads_;
  std::vector<WarpLog>* logs_;
  std::vector<std::unique_ptr<std::byte[]>> shared_;
};

}  // namespace isthmus::workloads
