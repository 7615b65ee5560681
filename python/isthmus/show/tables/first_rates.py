"""The rates of a first look, each at its most telling size."""

from collections.abc import Iterable

from isthmus.ground.sizes import approximate_size, format_size
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind, directed_name
from isthmus.show.page import Table
from isthmus.show.tables.host import STORES, stores, threads
from isthmus.show.tables.labels import BANDWIDTH, direction_of, of_kind, of_suite
from isthmus.show.tables.pinned_vs_pageable import spread_cell
from isthmus.show.tables.pivot import attempted, median_cell, pivot, size_word

# A row of the first table, and the way of its tests.
_COPIES = {"pinned": "ce", "pageable": "pageable", "mapped, by SM": "sm"}
_DUPLEX, _BOTH = "duplex_memcpy_ce", "pinned, both directions at once"


def bandwidth_table(run: Run) -> Table | None:
    """Lay out the largest copies, and the size at half of their bandwidth."""
    rows = [
        _bandwidth_row(
            run, name, *((directed_name(to, Kind.MEMCPY, way), BANDWIDTH) for to in ("h2d", "d2h"))
        )
        for name, way in _COPIES.items()
    ]
    rows.insert(2, _bandwidth_row(run, _BOTH, (_DUPLEX, "duplex_h2d"), (_DUPLEX, "duplex_d2h")))
    shown = tuple(row for row in rows if row is not None)
    if not shown:
        return None
    return Table(
        title="Bandwidth, GB/s (median; 1 GB = 1e9 B)",
        heads=("memory", "size", "H2D", "D2H", "H2D n1/2", "D2H n1/2"),
        rows=shown,
        num_text_columns=2,
    )


def large_copies_table(run: Run) -> Table | None:
    """Lay out the largest copies with newly allocated memory, and the gain of pinning."""
    found = of_kind(run, Kind.PINNED_VS_PAGEABLE)
    most = max((result.bytes for result in found), default=0)
    return pivot(
        f"Memory of {format_size(most)} allocated anew between copies, "
        "GB/s (median, minimum to maximum)",
        attempted(result for result in found if result.bytes == most),
        row={"memory": _memory},
        column=direction_of,
        cell=spread_cell,
    )


def gpus_table(run: Run) -> Table | None:
    """Lay out the total rate of all GPUs; None on a machine with one."""
    return pivot(
        "All GPUs at once, GB/s of all together (median)",
        attempted(result for result in of_suite(run, "multi") if result.metric == "aggregate"),
        row={"test": lambda result: result.test, "size": size_word},
        column=lambda _: "together",
    )


def host_table(run: Run) -> Table | None:
    """Lay out copies within host memory, by one core and by all; no device is involved."""
    found = [result for result in of_kind(run, Kind.HOST_MEMCPY) if result.way in STORES]
    most = max((result.bytes for result in found), default=0)
    return pivot(
        f"Copies of {format_size(most)} within host memory, GB/s (median)",
        attempted(result for result in found if result.bytes == most),
        row={"threads": threads},
        column=stores,
    )


def _bandwidth_row(run: Run, name: str, *ways: tuple[str, str]) -> tuple[str, ...] | None:
    found = [_of_largest_copy(_of(run, test, metric)) for test, metric in ways]
    size = next((format_size(result.bytes) for result in found if result), None)
    if size is None:
        return None
    rates = (median_cell(result) if result else "" for result in found)
    return (name, size, *rates, *(_half_size(run, test) for test, _ in ways))


def _half_size(run: Run, test: str) -> str:
    found = _of_largest_copy(_of(run, test, "half_bandwidth_size"))
    return "" if found is None or found.median is None else approximate_size(round(found.median))


def _of(run: Run, test: str, metric: str) -> list[Result]:
    return [result for result in run.results if (result.test, result.metric) == (test, metric)]


def _of_largest_copy(results: Iterable[Result]) -> Result | None:
    return max(attempted(results), key=lambda result: result.bytes, default=None)


def _memory(result: Result) -> str:
    return "pinned / pageable" if result.unit == "1" else str(result.axes.get("memory", ""))
