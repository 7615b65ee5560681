"""The times of a first look, each at the one size that says most."""

import re
from collections.abc import Iterable

from isthmus.report.grid import grid, median_cell
from isthmus.report.heading import title_suffix
from isthmus.report.labels import direction_of
from isthmus.report.numbers import four_digit_microseconds, microseconds
from isthmus.report.page import Table
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import format_size

_UP, _DOWN = "host_to_device", "device_to_host"
_SMALL = re.compile(rf"(?:{_UP}|{_DOWN})_small_copy_(\w+)")
_MANY = re.compile(rf"(?:{_UP}|{_DOWN})_many_copies_(\w+)")
# Of all kinds of memory those that most programs have, and Isthmus's own.
_MEMORY = ("malloc", "cuda_malloc_host", "cuda_host_register", "isthmus_pinned", "cuda_malloc")
_TOUCHED = {"malloc", "cuda_host_register"}
_WINDOW_METRICS = {
    "fenced": "window",
    "complete": "window",
    "posted": "posted",
    "memcpy_pinned": "memcpy pinned",
    "memcpy_pageable": "memcpy pageable",
}


def latency_table(run: Run) -> Table | None:
    """Lay out the smallest copies by each way, until they are known to be done."""
    found = [
        result
        for result in run.results
        if _SMALL.fullmatch(result.test)
        and result.metric == "completion"
        and result.cpu_cache == "warm"
    ]
    least = min((result.bytes for result in found), default=0)
    # What most programs copy when they copy little.
    size = 4 if any(result.bytes == 4 for result in found) else least  # noqa: PLR2004
    return grid(
        f"A copy of {format_size(size)}, microseconds until it is known to be done (median)"
        + title_suffix(run.machine),
        ("way",),
        [result for result in found if result.bytes == size],
        lambda result: (_named(_SMALL, result),),
        direction_of,
        lambda result: (
            result.status.value if result.median is None else microseconds(result.median)
        ),
    )


def many_copies_table(run: Run) -> Table | None:
    """Lay out the ways to make many small copies."""
    found = [r for r in run.results if _MANY.fullmatch(r.test) and r.metric == "completion"]
    most = max((int(result.axes.get("pieces", 0)) for result in found), default=0)
    return grid(
        "Many small copies, microseconds until all are complete (median)"
        + title_suffix(run.machine),
        ("copies",),
        [result for result in found if result.axes.get("pieces") == most],
        _pieces,
        lambda result: _named(_MANY, result),
    )


def memory_table(run: Run) -> Table | None:
    """Lay out what the usual kinds of memory cost at the largest size that pinned memory had."""
    kinds = {f"alloc_{name}": name for name in _MEMORY}
    found = [
        result
        for result in run.results
        if result.test in kinds
        and result.metric in {"allocate", "free"}
        and result.status != Status.WAIVED
    ]
    most = max((r.bytes for r in found if r.test == "alloc_cuda_malloc_host"), default=None)
    if most is None:
        return None
    rows = [_memory_row(r for r in found if (r.test, r.bytes) == (test, most)) for test in kinds]
    return Table(
        title=f"Memory of {format_size(most)}, microseconds (median)" + title_suffix(run.machine),
        heads=("memory", "allocate", "free", "first allocation"),
        rows=tuple(row for row in rows if row is not None),
    )


def overlap_table(run: Run) -> Table | None:
    """Lay out what of the shorter half each pipeline hides."""
    return grid(
        "Copies behind computation, the pipeline over its longer half (1.00x hides the shorter)"
        + title_suffix(run.machine),
        ("test", "size"),
        sorted((r for r in run.results if r.metric == "overlap_ratio"), key=_streams),
        lambda result: (result.test, format_size(result.bytes)),
        lambda result: f"{_streams(result)} stream{'s' if _streams(result) > 1 else ''}",
        lambda result: result.status.value if result.median is None else f"{result.median:.2f}x",
    )


def window_table(run: Run) -> Table | None:
    """Lay out the smallest write and read beside CUDA's copies, and up to where they win."""
    tests = {"window_write": "write", "window_read": "read"}
    found = [
        result
        for result in run.results
        if result.test in tests and result.cpu_cache == "warm" and result.num_threads == 1
    ]
    least = min((r.bytes for r in found if r.metric in _WINDOW_METRICS), default=0)
    times = [r for r in found if r.metric in _WINDOW_METRICS and r.bytes == least]
    table = grid(
        "Windows, microseconds (median)" + title_suffix(run.machine),
        ("copy", "size"),
        times,
        lambda result: (tests[result.test], format_size(least)),
        lambda result: _WINDOW_METRICS[result.metric],
    )
    limits = {tests[r.test]: _limit(r) for r in found if r.metric == "crossover_pinned"}
    if table is None or not limits:
        return table
    return Table(
        title=table.title,
        heads=(*table.heads, "beats pinned up to"),
        rows=tuple((*row, limits.get(row[0], "")) for row in table.rows),
        num_text_columns=2,
    )


def _memory_row(results: Iterable[Result]) -> tuple[str, ...] | None:
    found = {
        result.metric: result
        for result in results
        if "pages" in result.axes or _kind(result) not in _TOUCHED
    }
    if found.keys() != {"allocate", "free"}:
        return None
    one = found["allocate"]
    name = f"{_kind(one)}, pages touched" if _kind(one) in _TOUCHED else _kind(one)
    first = "" if one.first_call_s is None else four_digit_microseconds(one.first_call_s)
    return (name, median_cell(one), median_cell(found["free"]), first)


def _limit(result: Result) -> str:
    """Tell up to which size a window wins."""
    size = int(result.median or 0)
    if not size:
        return "-"
    return f"{format_size(size)}{' or more' if size == result.bytes else ''}"


def _pieces(result: Result) -> tuple[str, ...]:
    pieces = int(result.axes["pieces"])
    return (f"{direction_of(result)}, {pieces} of {format_size(result.bytes // pieces)}",)


def _kind(result: Result) -> str:
    return result.test.removeprefix("alloc_")


def _streams(result: Result) -> int:
    return int(result.axes.get("streams", 1))


def _named(tests: re.Pattern[str], result: Result) -> str:
    found = tests.fullmatch(result.test)
    return found[1] if found else result.test
