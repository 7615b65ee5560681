"""The tables of windows: copies beside cudaMemcpy, bandwidth, their life, round trips."""

from collections.abc import Callable, Iterable, Sequence

from isthmus.report.heading import title_suffix
from isthmus.report.labels import about_windows
from isthmus.report.numbers import four_digit_microseconds, gigabytes_per_second
from isthmus.report.page import Table
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import format_size

_WRITE, _READ, _PUSH = "window_write", "window_read", "window_push"
_LIFECYCLE, _PING_PONG = "window_lifecycle", "window_ping_pong"
_BANDWIDTHS = {"window_bandwidth_write": "write", "window_bandwidth_read": "read"}
_CROSSOVER = "crossover_"
_RIVALS = {
    "crossover_pinned": "pinned cudaMemcpy",
    "crossover_pageable": "pageable cudaMemcpy",
    "crossover_push": "a kernel asked to push",
}
_MEANINGS = {
    "fenced": "fenced: write() back to back, time over their number; sfence holds back stores "
    "only, so a clock read after a single call may run before its bytes have left",
    "posted": "posted: post() to one line after the other; nothing is promised before the fence, "
    "which is not in the time",
    "complete": "complete: read() back to back; the bytes are here",
    "launched": "push launched: from the launch of a kernel that pushes until its bytes are here",
    "asked": "push asked: from a flag through a window to a running kernel until its bytes are "
    "here",
    "pin": "pin, map: the backend's part of open new, beside looking up the buffer and comparing; "
    "unmap, unpin: its part of close",
}
_EMULATED = (
    "emulated: windows are real CPU stores and loads in host memory, so their times are those of "
    "host memory, not of a link"
)
_Name = Callable[[Result], str]


def window_tables(run: Run) -> list[Table]:
    """Lay out the medians of everything about windows that was to be measured."""
    found = [r for r in run.results if about_windows(r) and not r.metric.startswith(_CROSSOVER)]
    by_size = ("size",)
    tables = [
        _table(run, "Window writes, microseconds", by_size, _of(found, _WRITE), _size, _copy_head),
        _table(
            run, "Window reads, microseconds", by_size, _of(found, _READ, _PUSH), _size, _copy_head
        ),
        _table(
            run,
            "Window bandwidth, GB/s",
            ("size", "threads"),
            _of(found, *_BANDWIDTHS),
            lambda result: (*_size(result), str(result.num_threads)),
            lambda result: f"{_BANDWIDTHS[result.test]} {result.cpu_node or ''}".strip(),
        ),
        _table(
            run,
            "Window lifecycle, microseconds",
            by_size,
            _of(found, _LIFECYCLE),
            _size,
            lambda result: result.metric.replace("_", " "),
        ),
        _table(
            run,
            "Round trip to a running kernel, microseconds (CPU's flag > kernel's flag)",
            ("size", "data"),
            _of(found, _PING_PONG),
            lambda result: (*_size(result), result.data or "none"),
            lambda result: f"{result.source} > {result.target}",
        ),
    ]
    return [table for table in tables if table is not None]


def window_notes(run: Run) -> list[str]:
    """Say where windows stop paying and what the columns mean."""
    results = [result for result in run.results if about_windows(result)]
    used = {result.metric for result in results if result.status != Status.WAIVED}
    return [
        *_crossover_lines(results),
        *(meaning for metric, meaning in _MEANINGS.items() if metric in used),
        *([_EMULATED] if run.machine.emulated and used else []),
        *_first_line(results),
    ]


def _of(results: Iterable[Result], *tests: str) -> list[Result]:
    return [result for result in results if result.test in tests]


def _size(result: Result) -> tuple[str, ...]:
    return (format_size(result.bytes),)


def _circumstances(result: Result) -> str:
    threads = f"{result.num_threads} threads" if result.num_threads > 1 else ""
    return " ".join(filter(None, ["cold" if result.cpu_cache == "cold" else "", threads]))


def _copy_head(result: Result) -> str:
    # A push is the rival of a read: its columns say whose they are.
    whose = "push" if result.test == _PUSH else ""
    return " ".join(filter(None, [whose, result.metric.replace("_", " "), _circumstances(result)]))


def _table(
    run: Run,
    title: str,
    keys: tuple[str, ...],
    results: Sequence[Result],
    row_of: Callable[[Result], tuple[str, ...]],
    head_of: _Name,
) -> Table | None:
    """Lay out a row for each key and a column for each head; None without a number."""
    if all(result.status == Status.WAIVED for result in results):
        return None
    shown = [result for result in results if result.status != Status.WAIVED]
    heads = list(dict.fromkeys(map(head_of, shown)))
    cells = {(row_of(result), head_of(result)): _cell(result) for result in shown}
    rows = dict.fromkeys(row_of(result) for result in sorted(shown, key=lambda r: r.bytes))
    return Table(
        title=title + title_suffix(run.machine),
        heads=(*keys, *heads),
        rows=tuple((*row, *(cells.get((row, head), "") for head in heads)) for row in rows),
        num_text_columns=len(keys),
    )


def _cell(result: Result) -> str:
    if result.median is None:
        return result.status.value
    if result.unit == "B/s":
        return gigabytes_per_second(result.median)
    return four_digit_microseconds(result.median)


def _crossover_lines(results: Sequence[Result]) -> list[str]:
    """Say in a line for each way of copying what it is compared with, and up to where it wins."""
    ways: dict[str, list[str]] = {}
    for result in results:
        if result.metric.startswith(_CROSSOVER):
            how = _circumstances(result)
            way = f"{result.test}{f' ({how})' if how else ''}"
            rival = _RIVALS.get(result.metric, result.metric)
            ways.setdefault(way, []).append(f"{rival} {_up_to(result)}")
    return [f"{way} is faster than {', '.join(rivals)}" for way, rivals in ways.items()]


def _up_to(result: Result) -> str:
    size_bytes = int(result.median or 0)
    if size_bytes == 0:
        return "at no size from the smallest on"
    beyond = " (the largest measured)" if size_bytes == result.bytes else ""
    return f"up to {format_size(size_bytes)}{beyond}"


def _first_line(results: Sequence[Result]) -> list[str]:
    times = (result.first_call_s for result in results if result.metric == "open_new")
    seconds = next((time for time in times if time is not None), None)
    if seconds is None:
        return []
    return [f"first window, backends tried and tested: {four_digit_microseconds(seconds)} us"]
