"""
Measures managed memory beside a paged array of 512 MiB; a part of measure.py.

CuPy has no calls for batches, so they are the driver's own. Source: cuda.h of CUDA 13.0.
"""

# ruff: noqa: ANN401 - CuPy's arrays

import ctypes
from typing import Any

import numpy as np

import isthmus

MAX_BYTES = 512 << 20
HOT_ITEMS = 1 << 16
CHUNK_BYTES = 16 << 10
SIZE = {"array_bytes": MAX_BYTES}
_DEVICE, _HOST = 1, 2  # Source: CUmemLocationType


class _Location(ctypes.Structure):
    """A CUmemLocation."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class ManagedMemory:
    """
    An array in managed memory, on the host at first.

    Its calls are in a stream of its own, since batches refuse the legacy stream. Work in the legacy
    stream waits for it.

    Attributes:
        pointer: Its address.
    """

    def __init__(self, cupy: Any, host: Any) -> None:
        """Copy an array."""
        self._cupy = cupy
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._stream = cupy.cuda.Stream()
        self._memory = cupy.cuda.malloc_managed(host.nbytes)
        self.pointer = int(self._memory.ptr)
        self._size = ctypes.c_size_t(host.nbytes)
        ctypes.memmove(self.pointer, host.ctypes.data, host.nbytes)

    def prefetch(self) -> None:
        """Prefetch all of it to the GPU."""
        self._prefetch_to(_DEVICE)

    def to_host(self) -> None:
        """Bring all of it to the host, and wait."""
        self._prefetch_to(_HOST)
        self._cupy.cuda.Device().synchronize()

    def discard(self) -> None:
        """Say that its contents aren't needed."""
        self._call("cuMemDiscardBatchAsync", *self._batch(), ctypes.c_ulonglong(0))

    def discard_and_prefetch(self) -> None:
        """Do both in one call."""
        where = (ctypes.byref(_Location(_DEVICE, 0)), ctypes.byref(ctypes.c_size_t(0)))
        more = (ctypes.c_size_t(1), ctypes.c_ulonglong(0))
        self._call("cuMemDiscardAndPrefetchBatchAsync", *self._batch(), *where, *more)

    def _batch(self) -> tuple[object, ...]:
        address = ctypes.c_uint64(self.pointer)
        return ctypes.byref(address), ctypes.byref(self._size), ctypes.c_size_t(1)

    def _prefetch_to(self, where: int) -> None:
        flags = (_Location(where, 0), ctypes.c_uint(0))
        self._call("cuMemPrefetchAsync_v2", ctypes.c_uint64(self.pointer), self._size, *flags)

    def _call(self, name: str, *arguments: Any) -> None:
        failed = getattr(self._driver, name)(*arguments, ctypes.c_void_p(self._stream.ptr))
        if failed:
            raise SystemExit(f"{name} failed with {failed}")


def measure_managed(bench: Any, cupy: Any) -> None:
    """Measure a stream, a sparse gather, and stores to everything."""
    host = isthmus.pinned.empty(MAX_BYTES // 4, np.float32)
    host[:] = 1
    at = cupy.asarray(np.random.default_rng(4).integers(0, host.size, HOT_ITEMS).astype(np.uint32))
    memory = ManagedMemory(cupy, host)
    _read(bench, memory, at)
    _overwritten(bench, memory)
    _paged(bench, host, at)


def _read(bench: Any, memory: ManagedMemory, at: Any) -> None:
    pointer = memory.pointer
    stream = bench.launching("plain_stream", pointer, MAX_BYTES // 16, bench.out)
    ms = bench.ms(stream, memory.to_host)
    bench.add("stream, cold", "managed, on demand", ms, MAX_BYTES, **SIZE)

    def prefetched() -> None:
        memory.prefetch()
        stream()

    ms = bench.ms(prefetched, memory.to_host)
    bench.add("stream, cold", "managed, prefetched", ms, MAX_BYTES, **SIZE)
    gather = bench.launching("plain_gather", pointer, at, HOT_ITEMS, bench.out)
    ms = bench.ms(gather, memory.to_host)
    bench.add("gather of 64 Ki, cold", "managed, on demand", ms, **SIZE)


def _overwritten(bench: Any, memory: ManagedMemory) -> None:
    """Store to all of what the host has: its contents move, or are discarded."""
    ways = {
        "managed, on demand": bench.nothing,
        "managed, prefetched": memory.prefetch,
        "managed, discarded": memory.discard,
        "managed, discarded and prefetched": memory.discard_and_prefetch,
    }
    store = bench.launching("plain_overwrite", memory.pointer, MAX_BYTES // 16)
    for name, first in ways.items():

        def now(first: Any = first) -> None:
            first()
            bench.complete(store)

        ms = bench.wall_ms(now, memory.to_host)
        bench.add("overwrite of all", name, ms, MAX_BYTES, **SIZE)


def _paged(bench: Any, host: Any, at: Any) -> None:
    chunk = CHUNK_BYTES // 16
    with isthmus.PagedArray(host) as array:
        works = {
            "stream, cold": (("span_stream", bench.out), "paged, span"),
            "gather of 64 Ki, cold": (("paged_gather", at, HOT_ITEMS, bench.out), "paged, load"),
        }
        for what, ((kernel, *more), name) in works.items():
            work = bench.launching(kernel, array.argument, *more)
            ms = bench.ms(work, array.invalidate)
            bench.add(what, name, ms, unit="1KiB", **SIZE)
        store = bench.launching("overwrite_all", array.argument, chunk)
        ms = bench.wall_ms(lambda: bench.complete(store), lambda: array.invalidate(discard=True))
        bench.add("overwrite of all", "paged", ms, MAX_BYTES, unit="1KiB", **SIZE)
