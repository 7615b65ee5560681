"""Small copies: every latency of the smallest, each latency by size, and how the ways compare."""

import re
from collections.abc import Callable, Mapping, Sequence

from isthmus.report.heading import title_suffix
from isthmus.report.numbers import microseconds, ratio
from isthmus.report.page import Table
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import format_size

_TEST = re.compile(r"(host_to_device|device_to_host)_small_copy_(\w+)")
_HEADS = ("copy", "bytes", "metric", "median", "min", "p99", "first call", "n", "event floor")
_WORDS = {"host_to_device": "H2D", "device_to_host": "D2H"}
_FLOOR = "event_floor"
_BY_SIZE = {
    "api_return": "until the call returns",
    "completion": "until the copy is known to be done",
    "event_delta": "between GPU events",
    "reciprocal_throughput": "back to back, over their number",
    "visible": "until the other side reads the bytes",
}
# What most programs copy when they copy little.
_USUAL_BYTES = 4
_RIVAL = "blocking"


def small_copy_tables(run: Run) -> list[Table]:
    """Lay out the latencies: in full for one size, the medians for all if there are several."""
    results = [result for result in _latencies(run) if result.status != Status.WAIVED]
    if not results:
        return []
    sizes = sorted({result.bytes for result in results})
    tables = [_detail_table(run, [r for r in results if r.bytes == _shown_bytes(sizes)])]
    if len(sizes) > 1:
        tables += [
            _size_table(run, metric, of_metric)
            for metric in _BY_SIZE
            if (of_metric := [result for result in results if result.metric == metric])
        ]
    return tables


def comparison_lines(run: Run) -> list[str]:
    """Compare the ways with a blocking copy, and device-to-host with host-to-device."""
    found = [r for r in _latencies(run) if r.metric == "completion" and r.cpu_cache == "warm"]
    size_bytes = _shown_bytes(sorted({result.bytes for result in found}))
    medians = {
        result.test: result.median
        for result in found
        if result.bytes == size_bytes and result.median is not None
    }
    ways = list(dict.fromkeys(_parts(test)[1] for test in medians))
    lines = [
        (
            f"{short} completion over blocking",
            {way: (_name(start, way), _name(start, _RIVAL)) for way in ways if way != _RIVAL},
        )
        for start, short in _WORDS.items()
    ]
    lines.append(("completion, D2H / H2D", {way: _both_directions(way) for way in ways}))
    return [f"{what}: {told}" for what, pairs in lines if (told := _ratios(pairs, medians))]


def _ratios(pairs: Mapping[str, tuple[str, str]], medians: Mapping[str, float]) -> str:
    """Tell how many times the first of each pair takes what the second does."""
    return ", ".join(
        f"{way} {ratio(medians[above], medians[below])} "
        f"({microseconds(medians[above])} / {microseconds(medians[below])} us)"
        for way, (above, below) in pairs.items()
        if above in medians and below in medians
    )


def _both_directions(way: str) -> tuple[str, str]:
    return _name("device_to_host", way), _name("host_to_device", way)


def _latencies(run: Run) -> list[Result]:
    return [result for result in run.results if _TEST.fullmatch(result.test)]


def _parts(test: str) -> tuple[str, str]:
    start, _, way = test.partition("_small_copy_")
    return start, way


def _name(start: str, way: str) -> str:
    return f"{start}_small_copy_{way}"


def _way(result: Result) -> str:
    cold = " cold" if result.cpu_cache == "cold" else ""
    return f"{_parts(result.test)[1]}{cold}"


def _head(result: Result) -> str:
    return f"{_WORDS[_parts(result.test)[0]]} {_way(result)}"


def _shown_bytes(sizes: Sequence[int]) -> int | None:
    """Choose the size to show in full."""
    return _USUAL_BYTES if _USUAL_BYTES in sizes else next(iter(sizes), None)


def _detail_table(run: Run, results: Sequence[Result]) -> Table:
    """
    Lay out every latency of one size.

    The floor of the GPU's clock has no row of its own: it stands beside what it bounds; and the
    first call, one a copy, beside its completion.
    """
    warm = [result for result in results if result.cpu_cache == "warm"]
    floors = {result.test: result.median for result in warm if result.metric == _FLOOR}
    return Table(
        title="Small copies, microseconds" + title_suffix(run.machine),
        heads=_HEADS,
        rows=tuple(
            _row(result, _head(result), floors.get(result.test))
            for result in warm
            if result.metric != _FLOOR
        ),
        num_text_columns=3,
    )


def _row(result: Result, head: str, floor_s: float | None) -> tuple[str, ...]:
    start = (head, format_size(result.bytes), result.metric)
    if result.median is None:
        return (*start, result.status.value, "", "", "", "", "")
    first_call = microseconds(result.first_call_s) if result.metric == "completion" else ""
    floor = microseconds(floor_s) if result.metric == "event_delta" else ""
    numbers = map(microseconds, (result.median, result.min, result.p99))
    return (*start, *numbers, first_call, str(result.n), floor)


def _size_table(run: Run, metric: str, results: Sequence[Result]) -> Table:
    """Lay out the medians of one latency: a row for each size, a column for each way."""
    ways = list(dict.fromkeys(map(_way, sorted(results, key=lambda r: r.cpu_cache == "cold"))))
    place: Callable[[Result], tuple[str, int]] = lambda r: (_parts(r.test)[0], r.bytes)  # noqa: E731
    cells = {(*place(result), _way(result)): _cell(result) for result in results}
    rows = sorted(
        {place(result) for result in results}, key=lambda row: (row[0] != "host_to_device", row[1])
    )
    return Table(
        title=f"Small copies by size: {metric} ({_BY_SIZE[metric]}), microseconds"
        + title_suffix(run.machine),
        heads=("copy", "bytes", *ways),
        rows=tuple(
            (
                _WORDS[start],
                format_size(size),
                *(cells.get((start, size, way), "") for way in ways),
            )
            for start, size in rows
        ),
        num_text_columns=2,
    )


def _cell(result: Result) -> str:
    return result.status.value if result.median is None else microseconds(result.median)
