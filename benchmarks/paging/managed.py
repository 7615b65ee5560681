"""
Measures managed memory beside a paged array of 512 MiB; a part of measure.py.

README.md has the method.
"""

# ruff: noqa: ANN401 - CuPy's arrays

from typing import Any

import numpy as np
from managed_memory import MAX_BYTES, ManagedMemory

import isthmus

HOT_ITEMS = 1 << 16
CHUNK_BYTES = 16 << 10
SIZE = {"array_bytes": MAX_BYTES}


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
        memory.prefetch((0, MAX_BYTES))
        stream()

    ms = bench.ms(prefetched, memory.to_host)
    bench.add("stream, cold", "managed, prefetched", ms, MAX_BYTES, **SIZE)
    gather = bench.launching("plain_gather", pointer, at, HOT_ITEMS, bench.out)
    ms = bench.ms(gather, memory.to_host)
    bench.add("gather of 64 Ki, cold", "managed, on demand", ms, **SIZE)


def _overwritten(bench: Any, memory: ManagedMemory) -> None:
    """Store to all of what the host has: its contents move, or are discarded."""
    whole = memory.batch([(0, MAX_BYTES)])
    ways = {
        "managed, on demand": bench.nothing,
        "managed, prefetched": whole.prefetch,
        "managed, discarded": whole.discard,
        "managed, discarded and prefetched": whole.discard_and_prefetch,
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
