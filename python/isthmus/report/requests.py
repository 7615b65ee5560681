"""Tables of other ways to ask for copies: duplex, streams, rows, boxes, many pieces, pipelines."""

import re
from collections.abc import Callable, Sequence

from isthmus.report.heading import title_suffix
from isthmus.report.labels import BANDWIDTH, direction_of
from isthmus.report.numbers import gigabytes_per_second, microseconds
from isthmus.report.page import Table
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import format_size

_LOADED = re.compile(r"(?:host_to_device|device_to_host)_bidirectional_memcpy_(ce|sm)")
_STREAMS = re.compile(r"(?:host_to_device|device_to_host)_memcpy_streams")
_ROWS = re.compile(r"(?:host_to_device|device_to_host)_memcpy_2d")
_BOXES = re.compile(r"(?:host_to_device|device_to_host)_memcpy_(3d|array)")
_MANY = re.compile(r"(?:host_to_device|device_to_host)_many_copies_(\w+)")
_DUPLEX = "duplex_memcpy_ce"
_DUPLEX_HEADS = {"duplex_total": "together", "duplex_h2d": "of it H2D", "duplex_d2h": "of it D2H"}
_COMPLETION, _RATIO = "completion", "overlap_ratio"
_PIPELINE = ("copy_alone", "compute_alone", "together", _RATIO)
# The row of a result, and the column.
_Key = tuple[str, ...]


def request_tables(run: Run) -> list[Table]:
    """Lay out a table for each question that was asked."""
    suffix = title_suffix(run.machine)
    tables = (
        _duplex_table(run, suffix),
        _table(
            _of(run, _STREAMS, BANDWIDTH, axis="streams"),
            title=f"One copy shared by several streams, GB/s (median){suffix}",
            heads=("direction", "size"),
            row=_direction_and_size,
            column=lambda result: _axis(result, "streams", "streams"),
        ),
        _table(
            _of(run, _ROWS, BANDWIDTH, axis="row_bytes"),
            title=f"2-D copies, GB/s by the width of a row (median){suffix}",
            heads=("direction", "size"),
            row=_direction_and_size,
            column=lambda result: format_size(int(result.axes["row_bytes"])),
        ),
        _boxes_table(run, suffix),
        _table(
            _many(run),
            title=f"Many small copies, us until all are complete (median){suffix}",
            heads=("direction", "pieces", "of each"),
            row=_pieces,
            column=lambda result: _named(_MANY, result),
        ),
        _overlap_table(run, suffix),
    )
    return [table for table in tables if table is not None]


def request_notes(run: Run) -> list[str]:
    """Say what the numbers of those tables mean."""
    lines = []
    if any(_LOADED.fullmatch(result.test) for result in run.results):
        lines.append("loaded: copies of one direction while twice as many go the other way")
    if any(result.test == _DUPLEX for result in run.results):
        lines.append(
            "together: bytes of both directions from their common start until the slower is done"
        )
    if any(_BOXES.fullmatch(result.test) for result in run.results):
        lines.append(
            "shape: bytes of a row x rows x slices; pitched: gaps behind rows and slices on the "
            "device; array: a CUDA array"
        )
    lines += _best_ways(_many(run))
    if any(result.metric == _RATIO for result in run.results):
        lines.append(
            "overlap: the pipeline over the longer of its halves: 1.00x hides the shorter half"
        )
    return lines


def _boxes_table(run: Run, suffix: str) -> Table | None:
    """Put pitched memory beside arrays of the same shape, and arrays of rows below."""
    results = _of(run, _BOXES, BANDWIDTH, axis="rows")
    return _table(
        sorted(results, key=lambda r: (r.direction != "h2d", r.bytes, "slices" not in r.axes)),
        title=f"3-D and array copies, GB/s (median){suffix}",
        heads=("direction", "size", "shape"),
        row=lambda result: (*_direction_and_size(result), _shape(result)),
        column=lambda result: _named(_BOXES, result).replace("3d", "pitched"),
    )


def _duplex_table(run: Run, suffix: str) -> Table | None:
    return _table(
        [*_of(run, _LOADED, BANDWIDTH), *(r for r in run.results if r.test == _DUPLEX)],
        title=f"Both directions at once, GB/s (median){suffix}",
        heads=("size",),
        row=lambda result: (format_size(result.bytes),),
        column=_duplex_head,
    )


def _duplex_head(result: Result) -> str:
    if result.test == _DUPLEX:
        return _DUPLEX_HEADS[result.metric]
    engine = " by SM" if _named(_LOADED, result) == "sm" else ""
    return f"{direction_of(result)} loaded{engine}"


def _overlap_table(run: Run, suffix: str) -> Table | None:
    results = [
        r
        for r in run.results
        if r.suite == "overlap" and r.metric in _PIPELINE and {"chunks", "streams"} <= r.axes.keys()
    ]
    names = {"copy_alone": "copies", "compute_alone": "kernels", _RATIO: "overlap"}
    return _table(
        sorted(results, key=lambda result: _PIPELINE.index(result.metric)),
        title=f"Copies behind computation, us (median){suffix}",
        heads=("test", "size", "chunks", "streams"),
        row=lambda result: (
            result.test,
            format_size(result.bytes),
            str(result.axes["chunks"]),
            str(result.axes["streams"]),
        ),
        column=lambda result: names.get(result.metric, result.metric),
    )


def _table(
    results: Sequence[Result],
    *,
    title: str,
    heads: tuple[str, ...],
    row: Callable[[Result], _Key],
    column: Callable[[Result], str],
) -> Table | None:
    """Put each result into its row and column; None if there are none."""
    if not results:
        return None
    columns = list(dict.fromkeys(map(column, results)))
    cells: dict[_Key, dict[str, str]] = {}
    for result in results:
        cells.setdefault(row(result), {})[column(result)] = _cell(result)
    return Table(
        title=title,
        heads=(*heads, *columns),
        rows=tuple(
            (*key, *(found.get(name, "") for name in columns)) for key, found in cells.items()
        ),
        num_text_columns=len(heads),
    )


def _best_ways(results: Sequence[Result]) -> list[str]:
    """Name the way that was quickest for each set of pieces."""
    best: dict[_Key, Result] = {}
    for result in results:
        if result.status != Status.PASSED or result.median is None:
            continue
        before = best.get(_pieces(result))
        if before is None or before.median is None or result.median < before.median:
            best[_pieces(result)] = result
    ways = [
        f"{direction} {pieces} x {each} {_named(_MANY, result)}"
        for (direction, pieces, each), result in best.items()
    ]
    return [f"quickest way to make many copies: {', '.join(ways)}"] if ways else []


def _many(run: Run) -> list[Result]:
    return _of(run, _MANY, _COMPLETION, axis="pieces")


def _of(run: Run, tests: re.Pattern[str], metric: str, axis: str | None = None) -> list[Result]:
    found = [r for r in run.results if r.metric == metric and tests.fullmatch(r.test)]
    return [r for r in found if axis is None or axis in r.axes]


def _named(tests: re.Pattern[str], result: Result) -> str:
    found = tests.fullmatch(result.test)
    return found[1] if found else result.test


def _cell(result: Result) -> str:
    if result.median is None:
        return result.status.value
    if result.unit == "B/s":
        return gigabytes_per_second(result.median)
    return f"{result.median:.2f}x" if result.unit == "1" else microseconds(result.median)


def _direction_and_size(result: Result) -> _Key:
    return (direction_of(result), format_size(result.bytes))


def _shape(result: Result) -> str:
    numbers = [str(result.axes[name]) for name in ("rows", "slices") if name in result.axes]
    return " x ".join([format_size(int(result.axes["row_bytes"])), *numbers])


def _pieces(result: Result) -> _Key:
    pieces = int(result.axes["pieces"])
    return (direction_of(result), str(pieces), format_size(result.bytes // pieces))


def _axis(result: Result, name: str, unit: str) -> str:
    value = result.axes[name]
    return f"{value} {unit if value != 1 else unit.removesuffix('s')}"
