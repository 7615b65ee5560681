"""Bring an array of 512 MiB to the GPU with Numba, compute, and bring it back."""

import zlib

import numpy as np
from numba import cuda
from rounds import PINNED, report

host = np.random.default_rng(0).standard_normal(1 << 26)
back = np.empty_like(host)
if PINNED:
    pinned = cuda.pinned_array_like(host)
    pinned[:] = host
    host, back = pinned, cuda.pinned_array_like(host)


@cuda.jit
def double(array: object) -> None:
    """Scale all numbers."""
    i = cuda.grid(1)
    if i < array.size:  # type: ignore[attr-defined]
        array[i] *= 2  # type: ignore[index]


def work() -> None:
    """Copy, scale, copy back."""
    there = cuda.to_device(host)
    double[(host.size + 255) // 256, 256](there)
    there.copy_to_host(back)


double[1, 256](cuda.to_device(host[:8]))  # compiles it
cuda.synchronize()
report(work, lambda: zlib.crc32(back), 4)
