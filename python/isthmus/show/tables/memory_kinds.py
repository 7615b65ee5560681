"""Tables of copies between all kinds of memory, and of the effects of contents and offsets."""

from collections.abc import Callable

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind
from isthmus.show.numbers import ratio
from isthmus.show.page import Table
from isthmus.show.tables.labels import BANDWIDTH, direction_of, of_kind, upload_first
from isthmus.show.tables.pivot import by_size, median_cell, pivot, size_word

_DIRECTIONS = ("h2d", "d2h")
# A way to copy, and the heading of its column; the others are compared with the first.
_USUAL = "ce"
_KINDS = {
    _USUAL: "pinned",
    "registered": "registered",
    "write_combined": "write-combined",
    "huge_pages": "huge pages",
    "pool": "device pool",
    "sm": "mapped",
}


def memory_tables(run: Run) -> list[Table]:
    """Lay out all of this that was measured."""
    tables = [
        *(_kinds_table(run, direction) for direction in _DIRECTIONS),
        _managed_table(run),
        _contents_table(run),
        _offsets_table(run),
    ]
    return [table for table in tables if table is not None]


def memory_notes(run: Run) -> list[str]:
    """Explain mapped copies and managed memory."""
    lines = []
    if any(result.way == "sm" for result in of_kind(run, Kind.MEMCPY)):
        lines.append("mapped: a kernel copies from or to mapped pinned memory (zero-copy)")
    if of_kind(run, Kind.MANAGED):
        lines.append(
            "managed: timed by the CPU's clock, one at a time; demand is a kernel reading all of "
            "it (random: page by page in a random order), or the CPU loading from each page; "
            "advised pages stay on the host"
        )
    return lines


def _kinds_table(run: Run, direction: str) -> Table | None:
    found = [
        result
        for result in of_kind(run, Kind.MEMCPY, BANDWIDTH)
        if result.way in _KINDS and result.direction == direction
    ]
    # The usual copies have more sizes, in a table of their own.
    sizes = {result.bytes for result in found if result.way != _USUAL}
    ways = {result.way for result in found}
    return pivot(
        f"{direction.upper()} by kind of memory, GB/s (median)",
        by_size(result for result in found if result.bytes in sizes),
        row={"size": size_word},
        column=lambda result: _KINDS[result.way],
        columns=[head for way, head in _KINDS.items() if way in ways],
    )


def _managed_table(run: Run) -> Table | None:
    results = of_kind(run, Kind.MANAGED, BANDWIDTH)
    return pivot(
        "Managed memory, GB/s (median)",
        by_size(results),
        row={"size": size_word},
        column=_managed_head,
        columns=map(_managed_head, results),
    )


def _managed_head(result: Result) -> str:
    return f"{direction_of(result)} {result.way.replace('_', ' ')}"


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
    way: str,
    title: str,
    is_first: Callable[[Result], bool],
    name_of: Callable[[Result], str],
) -> Table | None:
    """Lay out a bandwidth in several circumstances, each also relative to the first."""
    results = [result for result in of_kind(run, Kind.MEMCPY, BANDWIDTH) if result.way == way]
    if not results:
        return None
    firsts = {(r.test, r.bytes): r.median for r in results if is_first(r)}
    return Table(
        title=f"{title}, GB/s (median)",
        heads=("copy", "size", way, "GB/s", "of the first"),
        rows=tuple(
            (
                direction_of(result),
                format_size(result.bytes),
                name_of(result),
                median_cell(result),
                _of_first(result, firsts.get((result.test, result.bytes))),
            )
            for result in upload_first(results)
        ),
        num_text_columns=3,
    )


def _of_first(result: Result, first: float | None) -> str:
    return ratio(result.median, first) if result.median is not None and first else "-"
