// The kernels of measure.py; isthmus/paged_array.cuh is put before them. Sums keep reads from being
// left out. "plain" kernels read a pointer: to device memory, or to the host's.
using ull = unsigned long long;

#ifndef ISTHMUS_BLOCKS
#define ISTHMUS_BLOCKS 3  // of 256 lanes, for which a multiprocessor has registers
#endif
using paged_map = isthmus::paged_map;
template <typename T>
#ifdef ISTHMUS_HELD
using paged_array = isthmus::held_array<T>;
#else
using paged_array = isthmus::paged_array<T>;
#endif
#define PAGED_KERNEL extern "C" __global__ void __launch_bounds__(256, ISTHMUS_BLOCKS)

__device__ float all_of(float4 v) { return v.x + v.y + v.z + v.w; }
__device__ ull lane_of_grid() { return blockIdx.x * ull(blockDim.x) + threadIdx.x; }
__device__ ull num_lanes() { return ull(gridDim.x) * blockDim.x; }

// Adds up in the warp first: if each lane adds to `out` itself, that alone takes 0.35 ms.
__device__ void add_to(float* out, float sum) {
  for (int distance = 16; distance != 0; distance /= 2)
    sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
  if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

// Sums what `load` gives. Each lane has four loads under way: with one, no kernel reaches the memory's
// speed.
template <typename Load>
__device__ void stream_of(ull count, float* out, Load load) {
  float sum = 0;
  const ull step = num_lanes();
  ull i = lane_of_grid();
  for (; i + 3 * step < count; i += 4 * step) {
    const float4 one = load(i), two = load(i + step);
    const float4 three = load(i + 2 * step), four = load(i + 3 * step);
    sum += all_of(one) + all_of(two) + all_of(three) + all_of(four);
  }
  for (; i < count; i += step) sum += all_of(load(i));
  add_to(out, sum);
}

extern "C" __global__ void plain_stream(const float4* data, ull count, float* out) {
  stream_of(count, out, [=](ull i) { return data[i]; });
}

PAGED_KERNEL load_stream(const paged_map* map, float* out) {
  paged_array<float4> array(*map);
  stream_of(array.size(), out, [&](ull i) { return array.load(i); });
}

// A warp has 16 KiB of adjacent items at a time.
PAGED_KERNEL span_stream(const paged_map* map, float* out) {
  constexpr ull kChunk = 1024;
  paged_array<float4> array(*map);
  float sum = 0;
  const ull lane = threadIdx.x % 32;
  for (ull i = lane_of_grid() / 32 * kChunk; i < array.size(); i += num_lanes() / 32 * kChunk) {
    const auto items = array.span(i, min(kChunk, array.size() - i));
    if (items.size() == kChunk) {
#pragma unroll 8
      for (ull j = 0; j < kChunk; j += 32) sum += all_of(items[j + lane]);
    } else {
      for (ull j = lane; j < items.size(); j += 32) sum += all_of(items[j]);
    }
  }
  add_to(out, sum);
}

// Warps read blocks of 1 KiB, of which there are a power of two, in a random order, each once.
__device__ ull block_of(ull i, ull num_blocks) {
  return i * 0x9E3779B1ULL + 12345 & num_blocks - 1;
}

extern "C" __global__ void plain_blocks(const float4* data, ull num_blocks, ull num_read,
                                        float* out) {
  float sum = 0;
  const ull lane = threadIdx.x % 32;
  for (ull i = lane_of_grid() / 32; i < num_read; i += num_lanes() / 32) {
    const float4* items = data + block_of(i, num_blocks) * 64;
    sum += all_of(items[lane]) + all_of(items[lane + 32]);
  }
  add_to(out, sum);
}

template <typename Array>
__device__ void blocks_of(Array& array, ull num_blocks, ull num_read, float* out) {
  float sum = 0;
  const ull lane = threadIdx.x % 32;
  for (ull i = lane_of_grid() / 32; i < num_read; i += num_lanes() / 32) {
    auto items = array.span(block_of(i, num_blocks) * 64, 64);
    sum += all_of(items[lane]) + all_of(items[lane + 32]);
  }
  add_to(out, sum);
}

PAGED_KERNEL paged_blocks(const paged_map* map, ull num_blocks, ull num_read, float* out) {
  paged_array<float4> array(*map);
  blocks_of(array, num_blocks, num_read, out);
}

extern "C" __global__ void plain_gather(const float* data, const unsigned* at, ull count,
                                        float* out) {
  float sum = 0;
  for (ull i = lane_of_grid(); i < count; i += num_lanes()) sum += data[at[i]];
  add_to(out, sum);
}

PAGED_KERNEL paged_gather(const paged_map* map, const unsigned* at, ull count, float* out) {
  paged_array<float> array(*map);
  float sum = 0;
  for (ull i = lane_of_grid(); i < count; i += num_lanes()) sum += array.load(at[i]);
  add_to(out, sum);
}

extern "C" __global__ void plain_overwrite(float4* data, ull count) {
  for (ull i = lane_of_grid(); i < count; i += num_lanes()) data[i] = make_float4(1, 1, 1, 1);
}

// Stores every item, without a fetch.
PAGED_KERNEL overwrite_all(const paged_map* map, ull chunk) {
  paged_array<float4> array(*map);
  const ull lane = threadIdx.x % 32;
  for (ull i = lane_of_grid() / 32 * chunk; i < array.size(); i += num_lanes() / 32 * chunk) {
    const auto items = array.overwrite(i, min(chunk, array.size() - i));
    for (ull j = lane; j < items.size(); j += 32) items[j] = make_float4(1, 1, 1, 1);
  }
}

// Warps read rows of 1 KiB, each access a row of `rows`.
extern "C" __global__ void plain_rows(const float4* data, const unsigned* rows, ull count,
                                      float* out) {
  float sum = 0;
  const ull lane = threadIdx.x % 32;
  for (ull i = lane_of_grid() / 32; i < count; i += num_lanes() / 32) {
    const float4* items = data + ull(rows[i]) * 64;
    sum += all_of(items[lane]) + all_of(items[lane + 32]);
  }
  add_to(out, sum);
}

template <typename Array>
__device__ void rows_of(Array& array, const unsigned* rows, ull count, float* out) {
  float sum = 0;
  const ull lane = threadIdx.x % 32;
  for (ull i = lane_of_grid() / 32; i < count; i += num_lanes() / 32) {
    auto items = array.span(ull(rows[i]) * 64, 64);
    sum += all_of(items[lane]) + all_of(items[lane + 32]);
  }
  add_to(out, sum);
}

PAGED_KERNEL paged_rows(const paged_map* map, const unsigned* rows, ull count, float* out) {
  paged_array<float4> array(*map);
  rows_of(array, rows, count, out);
}

PAGED_KERNEL budgeted_rows(const isthmus::budgeted_map* map, const unsigned* rows, ull count,
                           float* out) {
  isthmus::budgeted_array<float4> array(*map);
  rows_of(array, rows, count, out);
}

PAGED_KERNEL budgeted_blocks(const isthmus::budgeted_map* map, ull num_blocks, ull num_read,
                             float* out) {
  isthmus::budgeted_array<float4> array(*map);
  blocks_of(array, num_blocks, num_read, out);
}

// As span_stream.
PAGED_KERNEL budgeted_stream(const isthmus::budgeted_map* map, ull chunk, float* out) {
  isthmus::budgeted_array<float4> array(*map);
  float sum = 0;
  const ull lane = threadIdx.x % 32;
  for (ull i = lane_of_grid() / 32 * chunk; i < array.size(); i += num_lanes() / 32 * chunk) {
    auto items = array.span(i, min(chunk, array.size() - i));
#pragma unroll 8
    for (ull j = lane; j < items.size(); j += 32) sum += all_of(items[j]);
  }
  add_to(out, sum);
}
