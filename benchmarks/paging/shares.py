"""
Measures blocks of 1 KiB in a random order by the share that is touched and by passes; a part of
measure.py, which has the size.

Managed memory takes part where the array has 512 MiB at most. README.md has the method.
"""

# ruff: noqa: ANN401 - CuPy's arrays

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from managed_memory import MAX_BYTES, ManagedMemory

import isthmus

BLOCK_BYTES = 1024
PAGE_BYTES = 4096
SHARES = (0.001, 0.01, 0.1, 0.3, 0.6, 1.0)
PASSES = (1, 10, 100)
UNITS = ("1KiB", "4KiB", "64KiB")
WHAT = "blocks in random order"
# A contestant is as good as the best if it takes no more than this.
EVEN = 1.05

Work = Callable[[], object]


def blocks_of(num_blocks: int, num_read: int) -> "np.ndarray[Any, Any]":
    """List the blocks that the kernels read; block_of() of kernels.cu."""
    numbers = np.arange(num_read, dtype=np.uint64) * np.uint64(0x9E3779B1) + np.uint64(12345)
    return (numbers & np.uint64(num_blocks - 1)).astype(np.int64)


def page_ranges(blocks: "np.ndarray[Any, Any]") -> list[tuple[int, int]]:
    """Give the pages of some blocks as (first byte, bytes), neighbours as one."""
    pages = np.unique(blocks // (PAGE_BYTES // BLOCK_BYTES))
    begins = np.flatnonzero(np.diff(pages, prepend=pages[0] - 2) != 1)
    ends = np.append(begins[1:], pages.size)
    return [
        (int(pages[begin]) * PAGE_BYTES, int(end - begin) * PAGE_BYTES)
        for begin, end in zip(begins, ends, strict=True)
    ]


class Cell:
    """One share and count of passes: which kernel calls it is."""

    def __init__(self, bench: Any, num_blocks: int, share: float, passes: int) -> None:
        """Keep what is touched."""
        self._bench = bench
        self._passes = passes
        self.num_blocks = num_blocks
        self.num_read = max(1, int(num_blocks * share))
        self.facts = {"share": share, "passes": passes}

    def reading(self, kernel: str, data: object) -> Work:
        """Give a function that launches all passes."""
        bench = self._bench
        one = bench.launching(kernel, data, self.num_blocks, self.num_read, bench.out)

        def all_passes() -> None:
            for _ in range(self._passes):
                one()

        return all_passes

    def measure(self, contestant: str, work: Work, before: Work, **more: object) -> None:
        """Time the work until it is complete, and add a row."""
        bench = self._bench
        ms = bench.wall_ms(lambda: bench.complete(work), before)
        bench.add(WHAT, contestant, ms, self.num_read * BLOCK_BYTES, **self.facts, **more)


def measure_shares(bench: Any, host: Any, device: Any, cupy: Any) -> None:
    """Measure all contestants, and print which are the best where."""
    cells = [
        Cell(bench, host.nbytes // BLOCK_BYTES, share, passes)
        for share, passes in product(SHARES, PASSES)
    ]
    for unit in UNITS:
        with isthmus.PagedArray(host, unit) as array:
            for cell in cells:
                work = cell.reading("paged_blocks", array.argument)
                cell.measure(f"paged, {unit}", work, array.invalidate)
    for cell in cells:
        cell.measure("zero-copy", cell.reading("plain_blocks", host.ctypes.data), bench.nothing)
        after = cell.reading("plain_blocks", device)
        copied = bench.copying_then(host, device, after)
        cell.measure("copy, then plain", copied, bench.nothing)
    if host.nbytes <= MAX_BYTES:
        _managed(bench, cells, ManagedMemory(cupy, host))
    print_regions(bench.rows)


def _managed(bench: Any, cells: list[Cell], memory: ManagedMemory) -> None:
    """Measure managed memory; advice comes last, since it stays."""
    whole = [(0, memory.size_bytes)]
    for cell in cells:
        after = cell.reading("plain_blocks", memory.pointer)
        cell.measure("managed, on demand", after, memory.to_host)
        prefetched = _both(lambda: memory.prefetch(whole[0]), after)
        cell.measure("managed, prefetched", prefetched, memory.to_host)
        touched = memory.batch(page_ranges(blocks_of(cell.num_blocks, cell.num_read)))
        batched = _both(touched.prefetch, after)
        cell.measure("managed, batch of pages", batched, memory.to_host, ranges=touched.count)
    memory.to_host()
    memory.advise_in_place()
    for cell in cells:
        work = cell.reading("plain_blocks", memory.pointer)
        cell.measure("managed, advised in place", work, bench.nothing)


def _both(first: Work, second: Work) -> Work:
    def both() -> None:
        first()
        second()

    return both


def regions(rows: list[dict[str, Any]]) -> Iterator[tuple[float, int, list[str]]]:
    """Give each share and count of passes with those that are as good as the best, best first."""
    for share, passes in product(SHARES, PASSES):
        cell = {
            row["contestant"]: row["ms"]
            for row in rows
            if row["what"] == WHAT and (row["share"], row["passes"]) == (share, passes)
        }
        best = sorted(cell, key=lambda name: cell[name])
        yield share, passes, [name for name in best if cell[name] <= EVEN * cell[best[0]]]


def print_regions(rows: list[dict[str, Any]]) -> None:
    """Print where which contestant is the best."""
    print(f"\nbest, and all that take at most {EVEN} of its time:")
    for share, passes, names in regions(rows):
        print(f"{share:7.1%} touched, {passes:3} passes: {'; '.join(names)}")
