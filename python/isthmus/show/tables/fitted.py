"""Tables of the lines through times, of loads across the link, and of faults."""

from collections.abc import Mapping, Sequence

from isthmus.ground.sizes import approximate_size, format_size
from isthmus.measure.run.model import Result, Run
from isthmus.show.numbers import gigabytes_per_second, microseconds
from isthmus.show.page import Table

_FIT = ("fit_start", "fit_bandwidth", "half_bandwidth_size", "fit_error")
_CHASE = "host_device_latency_sm"
_FAULT = "managed_page_fault"
_NS_PER_S = 1e9
_LINES = (
    "lines fitted: time = start + bytes / bandwidth (least relative squares, all sizes); n1/2: "
    "size that reaches half the peak rate; error: the largest at any size"
)


def fitted_tables(run: Run) -> list[Table]:
    """Lay them out, as far as they were measured."""
    tables = (fit_table(run), chase_table(run), fault_table(run))
    return [table for table in tables if table is not None]


def fitted_notes(run: Run) -> list[str]:
    """Explain the numbers of a line."""
    if not any(result.metric in _FIT for result in run.results):
        return []
    return [_LINES]


def fit_table(run: Run) -> Table | None:
    """Lay out the lines that were fitted to times; None if there are none."""
    lines: dict[tuple[str, str], dict[str, float]] = {}
    for result in run.results:
        if result.metric in _FIT and result.median is not None:
            where = ", ".join(f"{name} {value}" for name, value in result.axes.items())
            lines.setdefault((result.test, where), {})[result.metric] = result.median
    rows = [_fit_row(key, line) for key, line in lines.items() if set(_FIT) <= line.keys()]
    if not rows:
        return None
    return Table(
        title="Lines through the times",
        heads=("test", "in", "start us", "GB/s", "n1/2", "error"),
        rows=tuple(rows),
        num_text_columns=2,
    )


def _fit_row(key: tuple[str, str], line: Mapping[str, float]) -> tuple[str, ...]:
    start, rate, half, error = (line[metric] for metric in _FIT)
    return (
        *key,
        microseconds(start),
        gigabytes_per_second(rate),
        approximate_size(round(half)),
        f"{error:.0%}",
    )


def chase_table(run: Run) -> Table | None:
    """Lay out the loads that a kernel made from host memory; None if it made none."""
    results = [result for result in run.results if result.test == _CHASE]
    if not results:
        return None
    return Table(
        title="Loads of host memory by a kernel, nanoseconds",
        heads=("order", "through", "median", "min", "p99", "n"),
        rows=tuple(_chase_row(result) for result in results),
        num_text_columns=2,
    )


def fault_table(run: Run) -> Table | None:
    """Lay out the faults of managed memory; None if none were measured."""
    results = [result for result in run.results if result.test == _FAULT]
    if not results:
        return None
    return Table(
        title="Faults of managed memory, microseconds per page",
        heads=("by the", "median", "min", "p99", "n"),
        rows=tuple(_fault_row(result) for result in results),
    )


def _fault_row(result: Result) -> tuple[str, ...]:
    who = result.metric.removesuffix("_fault")
    if result.median is None:
        return (who, result.status.value, "", "", "")
    return (who, *map(microseconds, (result.median, result.min, result.p99)), str(result.n))


def _chase_row(result: Result) -> tuple[str, ...]:
    start = (str(result.axes.get("order", "strided")), format_size(result.bytes))
    if result.median is None:
        return (*start, result.status.value, "", "", "")
    numbers: Sequence[float | None] = (result.median, result.min, result.p99)
    return (*start, *(_nanoseconds(number) for number in numbers), str(result.n))


def _nanoseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * _NS_PER_S:.1f}"
