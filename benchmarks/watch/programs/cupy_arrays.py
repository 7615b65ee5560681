"""Bring 1 GiB to the GPU with cupy.asarray, compute, and bring it back with cupy.asnumpy."""

import zlib

import cupy
import cupyx
import numpy as np
from rounds import PINNED, report

host = np.random.default_rng(0).standard_normal(1 << 27)
if PINNED:
    pinned = cupyx.empty_like_pinned(host)
    pinned[:] = host
    host, back = pinned, cupyx.empty_like_pinned(host)
results: list[np.ndarray] = []


def work() -> None:
    """Copy, scale, copy back."""
    results.clear()
    if PINNED:
        there = cupy.empty_like(host)
        there.set(host)
        results.append((2 * there).get(out=back))
    else:
        results.append(cupy.asnumpy(2 * cupy.asarray(host)))


report(work, lambda: zlib.crc32(results[0]), 4)
