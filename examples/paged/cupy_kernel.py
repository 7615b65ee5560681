"""A kernel of your own on a paged array, by CuPy: needs a GPU and cupy."""

import cupy
import numpy as np

import isthmus

KERNEL = r"""
extern "C" __global__ void count_above(const isthmus::paged_map* map, const unsigned long long* at,
                                       int count, float limit, int* above) {
  isthmus::paged_array<float> array(*map);  // one for each thread
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count && array.load(at[i]) > limit) atomicAdd(above, 1);
}
"""

host = isthmus.pinned.empty(1 << 28, np.float32)  # 1 GiB
host[:] = 1
host[: 1 << 20] = 3

kernel = cupy.RawModule(code=isthmus.paged_header() + KERNEL).get_function("count_above")
at = cupy.arange(0, 1 << 28, 1 << 14, dtype=cupy.uint64)
above = cupy.zeros(1, cupy.int32)

with isthmus.PagedArray(host) as array:
    arguments = (array.argument(), at, np.int32(at.size), np.float32(2), above)
    kernel((-(-at.size // 256),), (256,), arguments)
    print("above:", int(above[0]))
    stats = array.stats()
    print(f"fetched: {stats.fetched_units} of {stats.num_units} units of {array.unit_bytes} bytes")
