"""The times of a first look, each at its most telling size."""

from collections.abc import Iterable
from dataclasses import replace

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind
from isthmus.show.numbers import four_digit_microseconds
from isthmus.show.page import Table
from isthmus.show.tables.labels import direction_of, of_kind
from isthmus.show.tables.pivot import (
    attempted,
    by_size,
    median_cell,
    pivot,
    size_word,
    two_decimal_cell,
)
from isthmus.show.tables.requests import many_way

# The kinds of memory that most programs use, and Isthmus's own.
_MEMORY = ("malloc", "cuda_malloc_host", "cuda_host_register", "isthmus_pinned", "cuda_malloc")
_TOUCHED = {"malloc", "cuda_host_register"}
_WINDOW_WAYS = {"write", "read"}
_WINDOW_METRICS = {
    "fenced": "window",
    "complete": "window",
    "posted": "posted",
    "memcpy_pinned": "memcpy pinned",
    "memcpy_pageable": "memcpy pageable",
}


def latency_table(run: Run) -> Table | None:
    """Lay out the smallest copies made in each way, until they are known to be done."""
    found = [r for r in of_kind(run, Kind.SMALL_COPY, "completion") if r.cpu_cache == "warm"]
    least = min((result.bytes for result in found), default=0)
    # The usual size of a very small copy.
    size = 4 if any(result.bytes == 4 for result in found) else least  # noqa: PLR2004
    return pivot(
        f"A copy of {format_size(size)}, microseconds until complete (median)",
        attempted(result for result in found if result.bytes == size),
        row={"copy": direction_of},
        column=lambda result: result.way,
        cell=two_decimal_cell,
    )


def many_copies_table(run: Run) -> Table | None:
    """Lay out the ways to make many small copies."""
    found = of_kind(run, Kind.MANY_COPIES, "completion")
    most = max((int(result.axes.get("pieces", 0)) for result in found), default=0)
    shown = attempted(result for result in found if result.axes.get("pieces") == most)
    return pivot(
        "Many small copies, microseconds until all are complete (median)",
        shown,
        row={"copies": _pieces},
        column=many_way,
        columns=map(many_way, by_size(shown)),
    )


def memory_table(run: Run) -> Table | None:
    """Lay out the cost of the usual kinds of memory at the largest size of pinned memory."""
    found = attempted(
        result
        for result in of_kind(run, Kind.ALLOC)
        if result.way in _MEMORY and result.metric in {"allocate", "free"}
    )
    most = max((r.bytes for r in found if r.way == "cuda_malloc_host"), default=None)
    if most is None:
        return None
    rows = [_memory_row(r for r in found if (r.way, r.bytes) == (way, most)) for way in _MEMORY]
    return Table(
        title=f"Memory of {format_size(most)}, microseconds (median)",
        heads=("memory", "allocate", "free", "first allocation"),
        rows=tuple(row for row in rows if row is not None),
    )


def overlap_table(run: Run) -> Table | None:
    """Lay out how much of the shorter half each pipeline hides, with its best number of streams."""
    ratios = attempted(result for result in run.results if result.metric == "overlap_ratio")
    return pivot(
        "Overlap, best: total / longer part (1.00x = fully hidden)",
        # The last one of each column stays.
        sorted(ratios, key=lambda result: -(result.median or 0.0)),
        row={"size": size_word},
        column=_pipeline,
        columns=map(_pipeline, ratios),
    )


def window_table(run: Run) -> Table | None:
    """Lay out the smallest write and read beside CUDA's copies, and up to which size they win."""
    found = [
        result
        for result in of_kind(run, Kind.WINDOW)
        if result.way in _WINDOW_WAYS and result.cpu_cache == "warm" and result.num_threads == 1
    ]
    least = min((r.bytes for r in found if r.metric in _WINDOW_METRICS), default=0)
    table = pivot(
        "Windows, microseconds (median; writes fenced, reads complete)",
        attempted(r for r in found if r.metric in _WINDOW_METRICS and r.bytes == least),
        row={"copy": lambda result: result.way, "size": size_word},
        column=lambda result: _WINDOW_METRICS[result.metric],
    )
    limits = {result.way: _limit(result) for result in found if result.metric == "crossover_pinned"}
    if table is None or not limits:
        return table
    return replace(
        table,
        heads=(*table.heads, "beats pinned up to"),
        rows=tuple((*row, limits.get(row[0], "")) for row in table.rows),
    )


def _pipeline(result: Result) -> str:
    return f"{direction_of(result)} {result.way.removesuffix('_overlap').replace('_', ' ')}".strip()


def _memory_row(results: Iterable[Result]) -> tuple[str, ...] | None:
    found = {
        result.metric: result
        for result in results
        if "pages" in result.axes or result.way not in _TOUCHED
    }
    if found.keys() != {"allocate", "free"}:
        return None
    one = found["allocate"]
    name = f"{one.way}, pages touched" if one.way in _TOUCHED else one.way
    first = "" if one.first_call_s is None else four_digit_microseconds(one.first_call_s)
    return (name, median_cell(one), median_cell(found["free"]), first)


def _limit(result: Result) -> str:
    """Say up to which size a window wins."""
    size = int(result.median or 0)
    if not size:
        return "-"
    return f"{format_size(size)}{' or more' if size == result.bytes else ''}"


def _pieces(result: Result) -> str:
    pieces = int(result.axes["pieces"])
    return f"{direction_of(result)}, {pieces} of {format_size(result.bytes // pieces)}"
