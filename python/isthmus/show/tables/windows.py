"""The tables of windows: copies beside cudaMemcpy, bandwidth, lifecycle, round trips."""

from collections.abc import Mapping, Sequence

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.naming import Kind
from isthmus.show.numbers import four_digit_microseconds
from isthmus.show.page import Table
from isthmus.show.tables.labels import of_kind
from isthmus.show.tables.pivot import Word, attempted, by_size, pivot, size_word

_KINDS = {Kind.WINDOW, Kind.WINDOW_BANDWIDTH}
_WRITE, _READ, _PUSH = "write", "read", "push"
_LIFECYCLE, _PING_PONG = "lifecycle", "ping_pong"
_CROSSOVER = "crossover_"
_RIVALS = {
    "crossover_pinned": "pinned cudaMemcpy",
    "crossover_pageable": "pageable cudaMemcpy",
    "crossover_push": "a kernel asked to push",
}
_MEANINGS = {
    "fenced": "fenced: write() back to back, time divided by their number; sfence holds back only "
    "stores, so a clock read after a single call may run before its bytes have left",
    "posted": "posted: post() to one line after the other; nothing is guaranteed before the fence, "
    "which is not timed",
    "complete": "complete: read() back to back, until the bytes have arrived",
    "launched": "push launched: from the launch of a kernel that pushes until its bytes arrive",
    "asked": "push asked: from a flag through a window to a running kernel until its bytes arrive",
    "pin": "pin, map: the backend's part of open new, without finding the buffer and comparing; "
    "unmap, unpin: its part of close",
}
_EMULATED = (
    "emulated: times of writes and reads are simulated; opening and closing are this machine's"
)


def window_tables(run: Run) -> list[Table]:
    """Lay out the medians of all window measurements."""
    tables = (
        _table("Window writes, microseconds", _of(run, _WRITE), _copy_head),
        _table("Window reads, microseconds", _of(run, _READ, _PUSH), _copy_head),
        _table(
            "Window bandwidth, GB/s",
            attempted(of_kind(run, Kind.WINDOW_BANDWIDTH)),
            lambda result: f"{result.way} {result.cpu_node or ''}".strip(),
            {"threads": lambda result: str(result.num_threads)},
        ),
        _table(
            "Window lifecycle, microseconds",
            _of(run, _LIFECYCLE),
            lambda result: result.metric.replace("_", " "),
        ),
        _table(
            "Round trip to a running kernel, microseconds (CPU's flag > kernel's flag)",
            _of(run, _PING_PONG),
            lambda result: f"{result.source} > {result.target}",
            {"data": lambda result: result.data or "none"},
        ),
    )
    return [table for table in tables if table is not None]


def window_notes(run: Run) -> list[str]:
    """Say up to which size windows are faster, and explain the columns."""
    results = [result for result in run.results if result.kind in _KINDS]
    used = {result.metric for result in results if result.status != Status.WAIVED}
    return [
        *_crossover_lines(results),
        *(meaning for metric, meaning in _MEANINGS.items() if metric in used),
        *([_EMULATED] if run.machine.emulated and used else []),
        *_first_line(results),
    ]


def _of(run: Run, *ways: str) -> list[Result]:
    """List the results of some ways; crossovers have lines of their own."""
    found = [result for result in of_kind(run, Kind.WINDOW) if result.way in ways]
    return attempted(result for result in found if not result.metric.startswith(_CROSSOVER))


def _circumstances(result: Result) -> str:
    threads = f"{result.num_threads} threads" if result.num_threads > 1 else ""
    return " ".join(filter(None, ["cold" if result.cpu_cache == "cold" else "", threads]))


def _copy_head(result: Result) -> str:
    # A push is the alternative to a read, so its columns name it.
    whose = "push" if result.way == _PUSH else ""
    return " ".join(filter(None, [whose, result.metric.replace("_", " "), _circumstances(result)]))


def _table(
    title: str, results: Sequence[Result], column: Word, row: Mapping[str, Word] | None = None
) -> Table | None:
    return pivot(
        title,
        by_size(results),
        row={"size": size_word, **(row or {})},
        column=column,
        columns=map(column, results),
    )


def _crossover_lines(results: Sequence[Result]) -> list[str]:
    """Say for each way of copying what it is compared with, and up to which size it wins."""
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
