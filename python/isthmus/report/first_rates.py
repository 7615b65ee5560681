"""The rates of a first look, each at the one size that says most."""

from collections.abc import Iterable

from isthmus.report.grid import grid, median_cell
from isthmus.report.heading import title_suffix
from isthmus.report.labels import BANDWIDTH, direction_of
from isthmus.report.page import Table
from isthmus.report.pinned_vs_pageable import pinned_vs_pageable_results, spread_cell
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import approximate_size, format_size

_UP, _DOWN = "host_to_device", "device_to_host"
# A row of the first table, and what its tests end in.
_COPIES = {"pinned": "memcpy_ce", "pageable": "memcpy_pageable", "mapped, by SM": "memcpy_sm"}
_DUPLEX, _BOTH = "duplex_memcpy_ce", "pinned, both directions at once"
_STORES = {
    "host_memcpy": "libc's memcpy",
    "host_memcpy_cached": "64 KiB a call",
    "host_memcpy_non_temporal": "past the caches",
}


def bandwidth_table(run: Run) -> Table | None:
    """Lay out the largest copies, and the size at half of their bandwidth."""
    rows = [
        _bandwidth_row(run, name, (f"{_UP}_{end}", BANDWIDTH), (f"{_DOWN}_{end}", BANDWIDTH))
        for name, end in _COPIES.items()
    ]
    rows.insert(2, _bandwidth_row(run, _BOTH, (_DUPLEX, "duplex_h2d"), (_DUPLEX, "duplex_d2h")))
    shown = tuple(row for row in rows if row is not None)
    if not shown:
        return None
    return Table(
        title="Bandwidth, GB/s (median; 1 GB = 1e9 B)" + title_suffix(run.machine),
        heads=("memory", "size", "H2D", "D2H", "H2D n1/2", "D2H n1/2"),
        rows=shown,
        num_text_columns=2,
    )


def large_copies_table(run: Run) -> Table | None:
    """Lay out the largest copies with memory that was allocated anew, and what pinning brings."""
    found = pinned_vs_pageable_results(run)
    most = max((result.bytes for result in found), default=0)
    return grid(
        f"Memory of {format_size(most)} allocated anew between copies, GB/s (median, least to most)"
        + title_suffix(run.machine),
        ("memory",),
        [result for result in found if result.bytes == most],
        lambda result: ("pinned / pageable" if result.unit == "1" else _memory(result),),
        direction_of,
        spread_cell,
    )


def gpus_table(run: Run) -> Table | None:
    """Lay out what all GPUs together get; None of a machine with one."""
    found = [r for r in run.results if r.suite == "multi" and r.metric == "aggregate"]
    return grid(
        "All GPUs at once, GB/s of all together (median)" + title_suffix(run.machine),
        ("test", "size"),
        found,
        lambda result: (result.test, format_size(result.bytes)),
        lambda _: "together",
    )


def host_table(run: Run) -> Table | None:
    """Lay out copies within host memory, by one core and by all; no device takes part."""
    found = [result for result in run.results if result.test in _STORES]
    most = max((result.bytes for result in found), default=0)
    return grid(
        f"Copies of {format_size(most)} within host memory, GB/s (median)",
        ("threads",),
        [result for result in found if result.bytes == most],
        lambda result: (str(result.num_threads),),
        lambda result: _STORES[result.test],
    )


def _bandwidth_row(run: Run, name: str, *ways: tuple[str, str]) -> tuple[str, ...] | None:
    found = [_at_most_bytes(_of(run, test, metric)) for test, metric in ways]
    size = next((format_size(result.bytes) for result in found if result), None)
    if size is None:
        return None
    rates = (median_cell(result) if result else "" for result in found)
    return (name, size, *rates, *(_half_size(run, test) for test, _ in ways))


def _half_size(run: Run, test: str) -> str:
    found = _at_most_bytes(_of(run, test, "half_bandwidth_size"))
    return "" if found is None or found.median is None else approximate_size(round(found.median))


def _of(run: Run, test: str, metric: str) -> list[Result]:
    return [result for result in run.results if (result.test, result.metric) == (test, metric)]


def _at_most_bytes(results: Iterable[Result]) -> Result | None:
    found = (result for result in results if result.status != Status.WAIVED)
    return max(found, key=lambda result: result.bytes, default=None)


def _memory(result: Result) -> str:
    return str(result.axes.get("memory", ""))
