"""
Measures paged arrays of four times the device memory for them; a part of measure.py.

README.md has the method.
"""

# ruff: noqa: ANN401 - CuPy's arrays

import itertools
from typing import Any

import numpy as np

import isthmus

ROW_BYTES = 1024
ACCESSES = 1 << 22
SETS = 6
WARMING = 12
# A row's probability falls with its rank to this power.
SKEWS = (1.0, 1.1, 1.2, 1.3)
OVERSUBSCRIPTION = 4


def ranks_of(cupy: Any, skew: float, count: int, num_ranks: int) -> Any:
    """Draw ranks from 0, by the inverse of the continuous Zipf distribution."""
    uniform = cupy.random.random(count)
    if skew == 1:
        ranks = num_ranks**uniform
    else:
        ranks = (1 - uniform * (1 - num_ranks ** (1 - skew))) ** (1 / (1 - skew))
    return cupy.minimum(ranks.astype(cupy.uint64), num_ranks) - 1


def beyond(skew: float, first: int, num_ranks: int) -> float:
    """Give the share of accesses to ranks after the first ones: no cache misses fewer."""
    if skew == 1:
        return 1 - float(np.log(first) / np.log(num_ranks))
    power = 1 - skew
    return float((first**power - num_ranks**power) / (1 - num_ranks**power))


def accesses(cupy: Any, skew: float, num_rows: int) -> list[Any]:
    """Make several sets of rows; rows of neighbouring ranks lie far from each other."""
    cupy.random.seed(7)
    return [
        ((ranks_of(cupy, skew, ACCESSES, num_rows) * 0x9E3779B1 + 12345) & (num_rows - 1)).astype(
            cupy.uint32
        )
        for _ in range(SETS)
    ]


class Rows:
    """Kernels that read rows by Zipf's law, with other rows at each launch."""

    def __init__(self, bench: Any, cupy: Any, skew: float, num_rows: int) -> None:
        """Draw the rows."""
        self._bench = bench
        self._sets = itertools.cycle(accesses(cupy, skew, num_rows))
        missed = beyond(skew, num_rows // OVERSUBSCRIPTION, num_rows)
        self._facts = {"skew": skew, "least_missed": round(missed, 4)}

    def work(self, kernel: str, data: Any) -> Any:
        """Give a function that launches a kernel."""
        bench = self._bench
        return bench.launching(kernel, data, lambda: next(self._sets), ACCESSES, bench.out)

    def timed(self, name: str, kernel: str, data: Any, **more: object) -> float:
        """Measure a kernel once warm, in ms."""
        work = self.work(kernel, data)
        for _ in range(WARMING):
            work()
        ms: float = self._bench.ms(work)
        what = "rows of 1 KiB by Zipf, warm"
        self._bench.add(what, name, ms, ACCESSES * ROW_BYTES, **self._facts, **more)
        return ms

    def counted(self, name: str, array: Any, **more: object) -> None:
        """Count what one more launch misses."""
        before = array.stats()
        self.work("budgeted_rows", array.argument)()
        after = array.stats()
        fetched = after.fetched_units - before.fetched_units
        in_place = after.in_place_units - before.in_place_units
        evicted = after.evicted_units - before.evicted_units
        counts = {"fetched_units": fetched, "in_place_units": in_place, "evicted_units": evicted}
        self._bench.rows.append(
            {"what": "one launch", "contestant": name} | self._facts | counts | more
        )


def measure_budgets(bench: Any, cupy: Any, host: Any, device: Any) -> None:
    """Measure accesses by Zipf's law once warm, and everything in order, by what is held."""
    budget = host.nbytes // OVERSUBSCRIPTION
    ways: dict[str, dict[str, Any]] = {
        "paged, a quarter held": {"device_bytes": budget},
        "paged, read through": {"policy": "read_through"},
    }
    for skew in SKEWS:
        rows = Rows(bench, cupy, skew, host.nbytes // ROW_BYTES)
        resident = rows.timed("plain pointer", "plain_rows", device)
        with isthmus.PagedArray(host) as array:
            array.prefetch()
            rows.timed("paged, all held", "paged_rows", array.argument)
        for name, how in ways.items():
            with isthmus.PagedArray(host, **how) as array:
                ms = rows.timed(name, "budgeted_rows", array.argument)
                rows.counted(name, array, of_resident=round(resident / ms, 3))
    everything_in_order(bench, host, budget)


def everything_in_order(bench: Any, host: Any, budget: int) -> None:
    """Measure a stream of all items, again and again, of which a quarter can be held."""
    for unit in ("1KiB", "16KiB"):
        with isthmus.PagedArray(host, unit, device_bytes=budget) as array:
            work = bench.launching("budgeted_stream", array.argument, 1024, bench.out)
            first = bench.ms(work, array.invalidate)
            again = bench.ms(work)
        bench.add("stream, cold", "paged, a quarter held", first, host.nbytes, unit=unit)
        bench.add("stream, again", "paged, a quarter held", again, host.nbytes, unit=unit)
