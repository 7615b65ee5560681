"""Tables of copies between all kinds of memory, and of what may matter about the bytes."""

import re
from collections.abc import Callable, Iterable, Mapping

from isthmus.report.heading import title_suffix
from isthmus.report.labels import BANDWIDTH, direction_of
from isthmus.report.numbers import gigabytes_per_second, ratio
from isthmus.report.page import Table
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import format_size

_NAME = re.compile(r"(host_to_device|device_to_host)_(memcpy|managed)_(\w+)")
_LABELS = {"host_to_device": "H2D", "device_to_host": "D2H"}
# What a test's name ends in, and the heading of its column; the first is what others are held to.
_KINDS = {
    "ce": "pinned",
    "registered": "registered",
    "write_combined": "write-combined",
    "huge_pages": "huge pages",
    "pool": "device pool",
    "sm": "mapped, SM",
}


def memory_tables(run: Run) -> list[Table]:
    """Lay out what was measured of all this."""
    tables = [
        *(_kinds_table(run, direction) for direction in _LABELS),
        _managed_table(run),
        _contents_table(run),
        _offsets_table(run),
    ]
    return [table for table in tables if table is not None]


def memory_notes(run: Run) -> list[str]:
    """Say what a mapped copy and managed memory are."""
    endings = {_ending(result) for result in run.results}
    lines = []
    if "sm" in endings:
        lines.append("mapped, SM: a kernel copies from or to mapped pinned memory (zero-copy)")
    if {"demand", "prefetched", "advised"} & endings:
        lines.append(
            "managed: by the CPU's clock, one at a time; demand is a kernel that reads all of it, "
            "or the CPU loading from each page; advised pages stay on the host"
        )
    return lines


def _ending(result: Result) -> str:
    match = _NAME.fullmatch(result.test)
    return match[3] if match else ""


def _of(run: Run, group: str, direction: str | None = None) -> list[Result]:
    """List the bandwidths of a group of tests, those of one direction if one is given."""
    found = []
    for result in run.results:
        match = _NAME.fullmatch(result.test)
        if not match or match[2] != group or result.metric != BANDWIDTH:
            continue
        if direction is None or match[1] == direction:
            found.append(result)
    return found


def _grid(
    title: str, first: str, rows: Iterable[int], columns: Mapping[str, Mapping[int, Result]]
) -> Table:
    return Table(
        title=title,
        heads=(first, *columns),
        rows=tuple(
            (format_size(size), *(_rate(cells.get(size)) for cells in columns.values()))
            for size in rows
        ),
    )


def _kinds_table(run: Run, direction: str) -> Table | None:
    columns: dict[str, dict[int, Result]] = {}
    for result in _of(run, "memcpy", direction):
        if _ending(result) in _KINDS:
            columns.setdefault(_ending(result), {})[result.bytes] = result
    others = columns.keys() - {"ce"}
    if not others:
        return None
    sizes = sorted({size for ending in others for size in columns[ending]})
    return _grid(
        f"{_LABELS[direction]} by kind of memory, GB/s (median)" + title_suffix(run.machine),
        "size",
        sizes,
        {head: columns[ending] for ending, head in _KINDS.items() if ending in columns},
    )


def _managed_table(run: Run) -> Table | None:
    columns: dict[str, dict[int, Result]] = {}
    for result in _of(run, "managed"):
        columns.setdefault(f"{direction_of(result)} {_ending(result)}", {})[result.bytes] = result
    if not columns:
        return None
    sizes = sorted({size for cells in columns.values() for size in cells})
    title = "Managed memory, GB/s (median)" + title_suffix(run.machine)
    return _grid(title, "size", sizes, columns)


def _contents_table(run: Run) -> Table | None:
    return _compared(
        run,
        "contents",
        "Random bytes against zeros",
        lambda result: result.axes.get("contents") == "random",
        lambda result: str(result.axes.get("contents")),
    )


def _offsets_table(run: Run) -> Table | None:
    return _compared(
        run,
        "offset",
        "Offset of host and device side",
        lambda result: set(result.axes.values()) == {"0 B"},
        lambda result: f"{result.axes.get('host_offset')} / {result.axes.get('device_offset')}",
    )


def _compared(
    run: Run,
    ending: str,
    title: str,
    is_first: Callable[[Result], bool],
    name_of: Callable[[Result], str],
) -> Table | None:
    """Lay out a bandwidth in several circumstances, each beside what it is of the first's."""
    results = [result for result in _of(run, "memcpy") if _ending(result) == ending]
    if not results:
        return None
    firsts = {(r.test, r.bytes): r.median for r in results if is_first(r)}
    return Table(
        title=f"{title}, GB/s (median)" + title_suffix(run.machine),
        heads=("copy", "size", ending, "GB/s", "of the first"),
        rows=tuple(
            (
                direction_of(result),
                format_size(result.bytes),
                name_of(result),
                _rate(result),
                _of_first(result, firsts.get((result.test, result.bytes))),
            )
            for result in sorted(results, key=lambda r: (r.direction != "h2d", r.bytes))
        ),
        num_text_columns=3,
    )


def _of_first(result: Result, first: float | None) -> str:
    return ratio(result.median, first) if result.median is not None and first else "-"


def _rate(result: Result | None) -> str:
    if result is None:
        return ""
    if result.median is None or result.status != Status.PASSED:
        return result.status.value
    return gigabytes_per_second(result.median)
