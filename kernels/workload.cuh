// What the kernels of workloads run on: a CTA of a GPU, or all of a launch's threads one after the
// other on the emulated driver; and the memory that holds the workload's arrays.
//
// The kernels themselves are cpp/src/workloads/*/*_kernel.hpp, the same source that the simulator
// runs. An array's place in memory is its address on the workload's heap, less the heap's first one.
// Each entry point is there three times: *_plain for plain memory, wherever it is; *_paged and
// *_budgeted for a paged array of the whole heap, without and with a budget.
//
// All but the plain ones have bounds, because a miss needs registers: *_paged for 32 warps
// of a multiprocessor (lib 24, cp 48), *_budgeted for 24 (wp 32, nn as many as fit). Measured in
// benchmarks/paging/registers.json.
//
// CPU reference: the workload itself, on the host. cpp/tests/measure/paging_test.cpp compares.
#pragma once

#include "paged_lane.cuh"

#ifdef ISTHMUS_HOST_KERNELS
#include <string.h>

#include <memory>
#include <vector>
#endif

#include "workloads/recording/thread.hpp"

template <typename T>
using IsthmusHeapArray = isthmus::workloads::Array<T>;

/// A heap in plain memory.
class IsthmusPlainHeap {
public:
  __device__ IsthmusPlainHeap(uint8_t* memory, uint64_t first_address)
      : memory_(memory), first_address_(first_address) {}

  template <typename T>
  __device__ T load(const IsthmusHeapArray<T>& array, unsigned index) const {
    const T* const at = place(array, index);
    isthmus_note_read(at, sizeof(T));
    return *at;
  }
  template <typename T>
  __device__ void store(const IsthmusHeapArray<T>& array, unsigned index, const T& value) const {
    T* const at = place(array, index);
    isthmus_note_write(at, sizeof(T));
    *at = value;
  }
  template <typename T>
  __device__ T* place(const IsthmusHeapArray<T>& array, unsigned index) const {
    return reinterpret_cast<T*>(memory_ + (array.address - first_address_)) + index;
  }

private:
  uint8_t* memory_;
  uint64_t first_address_;
};

/// Plain items of the same size as an element.
template <unsigned SizeBytes>
struct IsthmusItemOf;
template <>
struct IsthmusItemOf<1> {
  using Item = uint8_t;
};
template <>
struct IsthmusItemOf<4> {
  using Item = uint32_t;
};
template <>
struct IsthmusItemOf<8> {
  using Item = uint64_t;
};
template <>
struct IsthmusItemOf<16> {
  using Item = uint4;
};

/// A heap that is a paged array. Elements of one size share a view, with what it remembers of the
/// last unit.
///
/// View        of items: an array of paged_lane.cuh
template <template <typename> typename View, typename Map>
class IsthmusPagedHeap {
public:
  __device__ IsthmusPagedHeap(const Map& map, uint64_t first_address)
      : bytes_(map), words_(map), pairs_(map), quads_(map), first_address_(first_address) {}

  template <typename T>
  __device__ T load(const IsthmusHeapArray<T>& array, unsigned index) {
    using Item = typename IsthmusItemOf<sizeof(T)>::Item;
    const Item item = view(static_cast<Item*>(nullptr)).load(number_of(array, index));
    T value;
    memcpy(&value, &item, sizeof value);
    return value;
  }
  template <typename T>
  __device__ void store(const IsthmusHeapArray<T>& array, unsigned index, const T& value) {
    using Item = typename IsthmusItemOf<sizeof(T)>::Item;
    Item item;
    memcpy(&item, &value, sizeof item);
    view(static_cast<Item*>(nullptr)).store(number_of(array, index), item);
  }

private:
  template <typename T>
  __device__ uint64_t number_of(const IsthmusHeapArray<T>& array, unsigned index) const {
    return (array.address - first_address_) / sizeof(T) + index;
  }
  __device__ View<uint8_t>& view(uint8_t*) { return bytes_; }
  __device__ View<uint32_t>& view(uint32_t*) { return words_; }
  __device__ View<uint64_t>& view(uint64_t*) { return pairs_; }
  __device__ View<uint4>& view(uint4*) { return quads_; }

  View<uint8_t> bytes_;
  View<uint32_t> words_;
  View<uint64_t> pairs_;
  View<uint4> quads_;
  uint64_t first_address_;
};

/// Calls body(memory) with what a launch was given as memory.
template <typename Body>
__device__ inline void isthmus_with_memory(uint8_t* heap, uint64_t first_address, Body body) {
  body(IsthmusPlainHeap(heap, first_address));
}
/// If the GPU holds all of it when a block begins, that block has nothing to look for.
template <typename Map, typename Body>
__device__ inline void isthmus_with_memory(const Map* heap, uint64_t first_address, Body body) {
  if constexpr (!IsthmusArrayOf<Map>::kHasFrames) {
    if (isthmus_block_agrees(isthmus::holds_all(*heap, IsthmusPagedMachine()))) {
      body(IsthmusPagedHeap<IsthmusHeld, Map>(*heap, first_address));
      return;
    }
  }
  body(IsthmusPagedHeap<IsthmusArrayOf<Map>::template Array, Map>(*heap, first_address));
}

/// One entry point of a workload.
///
/// function     of the workload's kernel, which it is named after: called with the CTA and `in`
/// Heap         what the launch is given as memory
#define ISTHMUS_WORKLOAD_KERNEL(function, kind, Arguments, Heap, shared_bytes, bounds)         \
  extern "C" __global__ void bounds isthmus_workload_##function##_##kind(                      \
      isthmus::workloads::Arguments in, Heap* heap, uint64_t first_address, uint32_t num_ctas, \
      uint32_t num_threads) {                                                                  \
    isthmus_with_memory(heap, first_address, [&](const auto& memory) {                         \
      isthmus_run_ctas<shared_bytes>(memory, num_ctas, num_threads,                            \
                                     [&](auto& cta) { function(cta, in); });                   \
    });                                                                                        \
  }

/// All entry points of a workload. cpp/emulator/CMakeLists.txt knows this name, too.
///
/// Arguments    of the workload's launches, a type of isthmus::workloads
/// shared_bytes of each CTA
/// alone        launch bounds of *_paged
/// more         those of *_budgeted; may be empty
#define ISTHMUS_WORKLOAD_KERNELS(function, Arguments, shared_bytes, alone, more)              \
  ISTHMUS_WORKLOAD_KERNEL(function, plain, Arguments, uint8_t, shared_bytes, )                \
  ISTHMUS_WORKLOAD_KERNEL(function, paged, Arguments, const isthmus::paged_map, shared_bytes, \
                          alone)                                                              \
  ISTHMUS_WORKLOAD_KERNEL(function, budgeted, Arguments, const isthmus::budgeted_map,         \
                          shared_bytes, more)

#ifdef ISTHMUS_HOST_KERNELS

/// A CTA whose threads run one after the other, each from barrier to barrier.
template <typename Memory>
class IsthmusSerialCta {
public:
  IsthmusSerialCta(unsigned index, unsigned num_threads, const Memory& memory)
      : index_(index), num_threads_(num_threads), memory_(memory) {}

  unsigned index() const { return index_; }
  unsigned num_threads() const { return num_threads_; }
  unsigned num_warps() const { return (num_threads_ + 31) / 32; }

  template <typename Body>
  void each_warp(Body body) {
    for (running_ = 0; running_ < num_threads_; running_++) {
      isthmus::workloads::ThreadOf<Memory> thread(running_, memory_);
      body(thread);
    }
  }
  void barrier() const {}

  template <typename T>
  T* shared(std::size_t num_elements) {
    shared_.emplace_back(new uint8_t[num_elements * sizeof(T)]());
    return reinterpret_cast<T*>(shared_.back().get());
  }

  /// A State for each thread, given to the one that runs.
  template <typename State>
  class States {
  public:
    explicit States(const IsthmusSerialCta& cta) : cta_(cta), states_(cta.num_threads_) {}
    State& operator[](unsigned /*warp*/) { return states_[cta_.running_]; }

  private:
    const IsthmusSerialCta& cta_;
    std::vector<State> states_;
  };
  template <typename State>
  States<State> per_warp() const {
    return States<State>(*this);
  }
  template <typename T>
  using Value = T;
  using Condition = bool;

private:
  unsigned index_, num_threads_, running_ = 0;
  Memory memory_;
  std::vector<std::unique_ptr<uint8_t[]>> shared_;
};

/// Calls body(cta) for each CTA of the launch.
template <unsigned SharedBytes, typename Memory, typename Body>
void isthmus_run_ctas(const Memory& memory, uint32_t num_ctas, uint32_t num_threads, Body body) {
  for (uint32_t index = 0; index < num_ctas; index++) {
    IsthmusSerialCta<Memory> cta(index, num_threads, memory);
    body(cta);
  }
}

#else

struct IsthmusAllThreads {
  __device__ void operator()() const { __syncthreads(); }
};

/// A CTA's shared memory: one, however often the kernel's code is there.
template <unsigned SharedBytes>
__device__ inline uint4* isthmus_shared() {
  __shared__ uint4 shared[(SharedBytes + 15) / 16 + (SharedBytes == 0 ? 1 : 0)];
  return shared;
}

/// Calls body(cta) for the block's own CTA. The launch has a block for each CTA.
template <unsigned SharedBytes, typename Memory, typename Body>
__device__ void isthmus_run_ctas(const Memory& memory, uint32_t, uint32_t, Body body) {
  using isthmus::workloads::ThreadOf;
  isthmus::workloads::ThreadCta<IsthmusAllThreads, ThreadOf<Memory>> cta(
      blockIdx.x, blockDim.x, ThreadOf<Memory>(threadIdx.x, memory), isthmus_shared<SharedBytes>(),
      IsthmusAllThreads());
  body(cta);
}

#endif
