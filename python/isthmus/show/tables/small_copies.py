"""Small copies: every metric of the smallest, each metric by size, and a comparison of the ways."""

from collections.abc import Mapping, Sequence

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind
from isthmus.show.numbers import microseconds, ratio
from isthmus.show.page import Table
from isthmus.show.tables.labels import direction_of, of_kind, upload_first
from isthmus.show.tables.pivot import attempted, pivot, size_word, two_decimal_cell

_HEADS = ("copy", "metric", "median", "min", "p99", "first call")
_BY_SIZE = {
    "api_return": "until the call returns",
    "completion": "until complete",
    "event_delta": "between GPU events",
    "reciprocal_throughput": "back to back, divided by their number",
    "visible": "until the other side reads the bytes",
}
# The usual size of a very small copy.
_USUAL_BYTES = 4
_UP, _DOWN = "H2D", "D2H"
_RIVAL = "blocking"
# A direction and a way.
_Copy = tuple[str, str]


def small_copy_tables(run: Run) -> list[Table]:
    """Lay out the metrics: in full for one size, the medians for all if there are several."""
    results = attempted(of_kind(run, Kind.SMALL_COPY))
    if not results:
        return []
    sizes = sorted({result.bytes for result in results})
    tables = [_detail_table([r for r in results if r.bytes == _shown_bytes(sizes)])]
    if len(sizes) > 1:
        tables += filter(None, (_size_table(metric, results) for metric in _BY_SIZE))
    return tables


def comparison_lines(run: Run) -> list[str]:
    """Compare the ways with a blocking copy, and device-to-host with host-to-device."""
    found = [r for r in of_kind(run, Kind.SMALL_COPY, "completion") if r.cpu_cache == "warm"]
    size_bytes = _shown_bytes(sorted({result.bytes for result in found}))
    medians = {
        (direction_of(result), result.way): result.median
        for result in found
        if result.bytes == size_bytes and result.median is not None
    }
    ways = list(dict.fromkeys(way for _, way in medians))
    pairs: dict[str, dict[str, tuple[_Copy, _Copy]]] = {
        f"{direction} completion over blocking": {
            way: ((direction, way), (direction, _RIVAL)) for way in ways if way != _RIVAL
        }
        for direction in (_UP, _DOWN)
    }
    pairs["completion, D2H / H2D"] = {way: ((_DOWN, way), (_UP, way)) for way in ways}
    return [f"{what}: {told}" for what, of in pairs.items() if (told := _ratios(of, medians))]


def _ratios(pairs: Mapping[str, tuple[_Copy, _Copy]], medians: Mapping[_Copy, float]) -> str:
    """Write the ratio of the first of each pair to the second."""
    return ", ".join(
        f"{way} {ratio(medians[above], medians[below])} "
        f"({microseconds(medians[above])} / {microseconds(medians[below])} us)"
        for way, (above, below) in pairs.items()
        if above in medians and below in medians
    )


def _copy(result: Result) -> str:
    return f"{direction_of(result)}{' cold' if _is_cold(result) else ''}"


def _is_cold(result: Result) -> bool:
    return result.cpu_cache == "cold"


def _shown_bytes(sizes: Sequence[int]) -> int | None:
    """Choose the size to show in full."""
    return _USUAL_BYTES if _USUAL_BYTES in sizes else next(iter(sizes), None)


def _detail_table(results: Sequence[Result]) -> Table:
    """Lay out every metric of one size, and each copy's first call beside the completion."""
    warm = [result for result in results if result.cpu_cache == "warm"]
    return Table(
        title=f"Copies of {format_size(results[0].bytes)}, microseconds",
        heads=_HEADS,
        rows=tuple(map(_row, warm)),
        num_text_columns=2,
    )


def _row(result: Result) -> tuple[str, ...]:
    start = (f"{direction_of(result)} {result.way}", result.metric)
    if result.median is None:
        return (*start, result.status.value, "", "", "")
    first_call = microseconds(result.first_call_s) if result.metric == "completion" else ""
    return (*start, *map(microseconds, (result.median, result.min, result.p99)), first_call)


def _size_table(metric: str, results: Sequence[Result]) -> Table | None:
    """Lay out the medians of one metric: a row for each size, a column for each way."""
    found = [result for result in results if result.metric == metric]
    return pivot(
        f"Small copies by size: {metric} ({_BY_SIZE[metric]}), microseconds",
        sorted(
            upload_first(found), key=lambda result: (result.direction != "h2d", _is_cold(result))
        ),
        row={"copy": _copy, "bytes": size_word},
        column=lambda result: result.way,
        cell=two_decimal_cell,
    )
