// A CTA and a warp from the view of one GPU thread: kernels compiled against these are GPU kernels.
// Compiles with NVRTC (--device-as-default-execution-space) and on the host. Where arrays are is up
// to a Memory: in their own values, or wherever kernels/workload.cuh finds them.
#pragma once

#include "workloads/recording/array.hpp"

namespace isthmus::workloads {

/// Like LocalArray of warp.hpp; here it really is the thread's own.
template <class T, unsigned NumWords>
struct ThreadArray {
  T values[NumWords];
};

/// The memory of arrays that are in their own values.
struct OwnValues {
  template <class T>
  T load(const Array<T>& array, unsigned index) const {
    return array.values[index];
  }
  template <class T>
  void store(const Array<T>& array, unsigned index, const T& value) const {
    array.values[index] = value;
  }
  template <class T>
  T* place(const Array<T>& array, unsigned index) const {
    return array.values + index;
  }
};

/// Like Warp of warp.hpp, whose comments apply here too; its only lane is this thread.
///
/// Memory      has load(array, index) and store(array, index, value), and, for kernels with atomics,
///             place(array, index), as OwnValues has
template <class Memory>
class ThreadOf {
public:
  /// thread      within the CTA
  explicit ThreadOf(unsigned thread, const Memory& memory = Memory())
      : thread_(thread), memory_(memory) {}

  unsigned index() const { return thread_ / 32; }
  unsigned lane() const { return thread_ % 32; }
  unsigned thread() const { return thread_; }
#ifdef __CUDACC__
  /// Only on a GPU: a single thread can't compute it.
  template <class T>
  T sum_of_lanes(T value) const {
    for (unsigned apart = 16; apart > 0; apart /= 2)
      value = value + __shfl_xor_sync(~0U, value, apart);
    return value;
  }
#endif
  void compute(unsigned /*num_instructions*/) const {}

  template <class T>
  T lanes(const T& uniform) const {
    return uniform;
  }
  template <class Function, class... T>
  auto map(Function function, const T&... inputs) const {
    return function(inputs...);
  }
  template <class Function, class... T>
  bool test(Function function, const T&... inputs) const {
    return function(inputs...);
  }
  template <class T>
  T select(bool mask, const T& where_true, const T& where_false) const {
    return mask ? where_true : where_false;
  }
  template <class T, class U>
  void set(T& target, const U& value) const {
    target = value;
  }
  bool any(bool mask) const { return mask; }

  template <class Body>
  void when(bool mask, Body body) const {
    if (mask) body();
  }
  template <class Body, class Otherwise>
  void when(bool mask, Body body, Otherwise otherwise) const {
    if (mask)
      body();
    else
      otherwise();
  }
  template <class Condition, class Body>
  void loop(Condition condition, Body body) const {
    while (condition()) body();
  }

  template <class T>
  T load(const Array<T>& array, unsigned index) {
    return memory_.load(array, index);
  }
  template <class T>
  void store(const Array<T>& array, unsigned index, const T& value) {
    memory_.store(array, index, value);
  }
  template <class T>
  T atomic_add(const Array<T>& array, unsigned index, const T& value) const {
#ifdef __CUDACC__
    return atomicAdd(memory_.place(array, index), value);
#else
    T& element = *memory_.place(array, index);
    const T before = element;
    element = static_cast<T>(before + value);
    return before;
#endif
  }
  template <class T>
  T atomic_min(const Array<T>& array, unsigned index, const T& value) const {
#ifdef __CUDACC__
    return atomicMin(memory_.place(array, index), value);
#else
    T& element = *memory_.place(array, index);
    const T before = element;
    if (value < before) element = value;
    return before;
#endif
  }
  template <class T>
  T atomic_compare_exchange(const Array<T>& array, unsigned index, const T& expected,
                            const T& value) const {
#ifdef __CUDACC__
    return atomicCAS(memory_.place(array, index), expected, value);
#else
    T& element = *memory_.place(array, index);
    const T before = element;
    if (before == expected) element = value;
    return before;
#endif
  }

  template <class T>
  T read(const T* values, unsigned index) const {
    return values[index];
  }
  template <class T>
  void write(T* values, unsigned index, const T& value) const {
    values[index] = value;
  }

  template <class T, unsigned NumWords>
  ThreadArray<T, NumWords> local() const {
    return {};
  }
  template <class T, unsigned NumWords>
  T load(const ThreadArray<T, NumWords>& array, unsigned word) const {
    return array.values[word];
  }
  template <class T, unsigned NumWords>
  void store(ThreadArray<T, NumWords>& array, unsigned word, const T& value) const {
    array.values[word] = value;
  }

private:
  unsigned thread_;
  Memory memory_;
};

using Thread = ThreadOf<OwnValues>;

/// Like Cta of warp.hpp.
///
/// Barrier     called without arguments, returns when all threads of the CTA have called it
template <class Barrier, class OwnThread = Thread>
class ThreadCta {
public:
  /// shared      memory for all threads of the CTA, 16-byte aligned, as much as the kernel needs
  ThreadCta(unsigned index, unsigned num_threads, const OwnThread& thread, void* shared,
            Barrier barrier)
      : index_(index),
        num_threads_(num_threads),
        thread_(thread),
        shared_(static_cast<char*>(shared)),
        barrier_(barrier) {}

  unsigned index() const { return index_; }
  unsigned num_threads() const { return num_threads_; }
  unsigned num_warps() const { return (num_threads_ + 31) / 32; }

  template <class Body>
  void each_warp(Body body) {
    body(thread_);
  }
  void barrier() { barrier_(); }

  template <class T>
  T* shared(unsigned num_elements) {
    constexpr unsigned alignment = 16;
    auto* memory = reinterpret_cast<T*>(shared_);
    shared_ += (sizeof(T) * num_elements + alignment - 1) / alignment * alignment;
    return memory;
  }

  /// One State, for any index.
  template <class State>
  struct OwnState {
    State& operator[](unsigned /*warp*/) { return state; }
    State state;
  };
  template <class State>
  OwnState<State> per_warp() const {
    return {};
  }
  template <class T>
  using Value = T;
  using Condition = bool;

private:
  unsigned index_;
  unsigned num_threads_;
  OwnThread thread_;
  char* shared_;
  Barrier barrier_;
};

}  // namespace isthmus::workloads
