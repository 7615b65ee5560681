// Kernels of test_paged.py; isthmus.paged_header() is put before them. With ISTHMUS_TEST_BUDGETED
// defined they are those of budgeted arrays; with ISTHMUS_TEST_HELD lanes look for nothing if all is held.
using ull = unsigned long long;

#ifdef ISTHMUS_TEST_BUDGETED
using paged_map = isthmus::budgeted_map;
template <typename T>
using paged_array = isthmus::budgeted_array<T>;
#else
using paged_map = isthmus::paged_map;
template <typename T>
using paged_array = isthmus::paged_array<T>;
#endif

__device__ unsigned mixed(ull x) {
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDULL;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53ULL;
  return unsigned(x ^ x >> 33);
}

// Random loads and stores, by items and ranges. Items with even indices are never stored, and all
// lanes load them. Each other item belongs to one lane, which stores it to `reference` too. Neighbours
// of a unit belong to lanes of other blocks, so that all that is done to a unit is done at once.
template <typename Array>
__device__ void stress_items(Array& array, unsigned* reference, ull seed, unsigned rounds,
                             ull* wrong) {
  const ull lane = blockIdx.x * ull(blockDim.x) + threadIdx.x;
  const ull num_lanes = ull(gridDim.x) * blockDim.x, num_pairs = array.size() / 2;
  ull num_wrong = 0;
  for (unsigned i = 0; i < rounds; i++) {
    const ull random = seed + (lane * rounds + i) * 4;
    const unsigned choice = mixed(random) % 8;
    const ull pair = mixed(random + 1) % num_pairs;
    const ull own = pair / num_lanes * num_lanes + lane;
    if (choice < 3) {
      num_wrong += array.load(pair * 2) != mixed(pair * 2);
    } else if (choice == 3) {
      const ull count = min(1 + random % 150, array.size() - pair * 2);
      auto items = array.span(pair * 2, count);
      for (ull j = 0; j < items.size(); j += 2) num_wrong += items[j] != mixed(pair * 2 + j);
    } else if (own < num_pairs && choice < 6) {
      num_wrong += array.load(own * 2 + 1) != reference[own * 2 + 1];
    } else if (own < num_pairs) {
      const unsigned value = mixed(random + 2);
      reference[own * 2 + 1] = value;
      if (choice == 6) {
        array.store(own * 2 + 1, value);
      } else {
        auto items = array.writable(own * 2 + 1, 1);
        items[0] = value;
      }
    }
  }
  if (num_wrong != 0) atomicAdd(wrong, num_wrong);
}
#ifdef ISTHMUS_TEST_HELD
__device__ ull num_held;  // lanes that looked for nothing
#endif
extern "C" __global__ void __launch_bounds__(1024)
    stress(const paged_map* map, unsigned* reference, ull seed, unsigned rounds, ull* wrong) {
#ifdef ISTHMUS_TEST_HELD
  if (isthmus::holds_all(*map)) {
    isthmus::held_array<unsigned> array(*map);
    stress_items(array, reference, seed, rounds, wrong);
    atomicAdd(&num_held, 1ULL);
    return;
  }
#endif
  paged_array<unsigned> array(*map);
  stress_items(array, reference, seed, rounds, wrong);
}

#ifdef ISTHMUS_TEST_HELD
// Waits for a prefetch, at most two seconds, and reads everything then. waited: lanes that were told,
// and items that were wrong.
extern "C" __global__ void wait_until_held(const paged_map* map, const unsigned* reference,
                                           ull* waited) {
  ull now, end;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  for (end = now + 2000000000ULL; !isthmus::holds_all(*map);) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (now > end) return;
    __nanosleep(1000);
  }
  isthmus::held_array<unsigned> array(*map);
  ull num_wrong = 0;
  for (ull i = threadIdx.x; i < array.size(); i += blockDim.x)
    num_wrong += array.load(i) != reference[i];
  atomicAdd(waited, 1ULL);
  atomicAdd(waited + 1, num_wrong);
}
#endif

// All items before the first launch.
extern "C" __global__ void fill(unsigned* items, ull count) {
  for (ull i = blockIdx.x * ull(blockDim.x) + threadIdx.x; i < count;
       i += ull(gridDim.x) * blockDim.x)
    items[i] = mixed(i);
}

// Lanes of one warp go different ways, and meet in the same units in opposite orders.
extern "C" __global__ void apart(const paged_map* map, ull unit_items, unsigned* found) {
  paged_array<unsigned> array(*map);
  const unsigned lane = threadIdx.x;
  unsigned sum = 0;
  if (lane % 3 == 0) {
    for (unsigned i = 0; i < 64; i++) sum += array.load(i * unit_items + lane);
  } else if (lane % 3 == 1) {
    for (unsigned i = 64; i-- > 0;) sum += array.load(i * unit_items + lane);
  } else {
    for (unsigned i = 0; i < 64; i += lane % 2 + 1) {
      auto items = array.writable((i ^ lane % 4) * unit_items + lane, 1);
      sum += items[0];
    }
  }
  found[lane] = sum;
}

// Every lane has a span of its own, or all have one.
extern "C" __global__ void spans(const paged_map* map, ull length, unsigned shared, ull* sum) {
  paged_array<unsigned> array(*map);
  const ull lane = blockIdx.x * ull(blockDim.x) + threadIdx.x;
  const ull which = shared ? lane / blockDim.x : lane;
  const ull first = which * length;
  if (first >= array.size()) return;
  auto items = array.span(first, min(length, array.size() - first));
  ull own = 0;
  const ull begin = shared ? threadIdx.x : 0, step = shared ? blockDim.x : 1;
  for (ull i = begin; i < items.size(); i += step) own += items[i];
  atomicAdd(sum, own);
}

extern "C" __global__ void load_one(const paged_map* map, ull index, unsigned* found) {
  paged_array<unsigned> array(*map);
  *found = array.load(index);
}

extern "C" __global__ void store_one(const paged_map* map, ull index, unsigned value) {
  paged_array<unsigned> array(*map);
  if (threadIdx.x == 0) array.store(index, value);
}

extern "C" __global__ void add_one(const paged_map* map) {
  paged_array<unsigned> array(*map);
  const ull lane = blockIdx.x * ull(blockDim.x) + threadIdx.x;
  if (lane < array.size()) array.store(lane, array.load(lane) + 1);
}
