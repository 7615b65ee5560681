"""
The line through a test's times: a start-up time, and a time for each byte, of a copy or of an
allocation.

Boyer, Meng and Kumaran (IPDPSW 2013) predict transfers by it with an error below 8 %. The error
here says how well it holds: between copies that are mostly start-up and copies that are mostly
bytes, the times of links have steps, which a line can't follow.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isthmus.ground.sizes import format_size
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.alloc import LIVE
from isthmus.measure.run.result import (
    NOT_DERIVED,
    Result,
    Spread,
    Status,
    derived_result,
    no_derived_result,
)

# A line through two or three points can't show its error.
_FEWEST_SIZES = 5
# Points at nearly the same size don't show how time grows.
_MIN_RANGE = 64


@dataclass(frozen=True, kw_only=True)
class Line:
    """
    Seconds of a copy over its bytes.

    Attributes:
        start_s: The time of a copy of no bytes.
        worst_error: The largest distance of a time from the line, as a part of that time.
    """

    start_s: float
    s_per_byte: float
    worst_error: float

    @property
    def half_bandwidth_bytes(self) -> float:
        """The size at which a copy reaches half of the line's bandwidth."""
        return self.start_s / self.s_per_byte


def fit_line(seconds: Mapping[int, float]) -> Line | None:
    """
    Fit a line by least squares of relative errors: small copies count as much as large ones. None
    if the sizes are too few or too close together, or times don't grow.
    """
    if len(seconds) < _FEWEST_SIZES or max(seconds) < _MIN_RANGE * min(seconds):
        return None
    # (start + slope * size) / time = 1, so every equation's error is relative.
    rows = [(1 / time, size / time) for size, time in seconds.items()]
    aa = math.fsum(a * a for a, _ in rows)
    ab = math.fsum(a * b for a, b in rows)
    bb = math.fsum(b * b for _, b in rows)
    a1, b1 = math.fsum(a for a, _ in rows), math.fsum(b for _, b in rows)
    determinant = aa * bb - ab * ab
    if determinant <= 0:
        return None
    start, slope = (a1 * bb - b1 * ab) / determinant, (aa * b1 - ab * a1) / determinant
    if start < 0:  # no copy starts before its call
        start, slope = 0.0, b1 / bb
    if slope <= 0:
        return None
    worst = max(abs(a * start + b * slope - 1) for a, b in rows)
    return Line(start_s=start, s_per_byte=slope, worst_error=worst)


def fits(results: Sequence[Result]) -> list[Result]:
    """
    Fit a line to every bandwidth that was measured at enough sizes: the time of no bytes, the
    bandwidth of an infinitely long copy, the size that reaches half of it, the largest relative
    error.
    """
    found = []
    for curve in _curves(results).values():
        line = fit_line({result.bytes: result.bytes / (result.median or 1) for result in curve})
        if line is not None:
            found += _results_of(line, curve)
    return found


def _curves(results: Sequence[Result]) -> dict[tuple[object, ...], list[Result]]:
    curves: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        if result.status != Status.PASSED or result.metric != Metric.BANDWIDTH:
            continue
        if result.suite != "bandwidth" or not result.median:
            continue
        key = (result.test, result.cpu_cache, result.num_threads, *sorted(result.axes.items()))
        curves.setdefault(key, []).append(result)
    return curves


def _results_of(line: Line, curve: Sequence[Result]) -> list[Result]:
    values = {
        Metric.FIT_START: ("s", line.start_s),
        Metric.FIT_BANDWIDTH: ("B/s", 1 / line.s_per_byte),
        Metric.HALF_BANDWIDTH_SIZE: ("B", line.half_bandwidth_bytes),
        Metric.FIT_ERROR: ("1", line.worst_error),
    }
    largest = max(curve, key=lambda result: result.bytes)
    return [
        largest.model_copy(
            update=NOT_DERIVED
            | {
                "metric": metric.value,
                "unit": unit,
                **dict.fromkeys(("median", "min", "max", "p99"), value),
                "iqr": 0.0,
                "n": len(curve),
            }
        )
        for metric, (unit, value) in values.items()
    ]


def allocation_fits(results: Sequence[Result]) -> list[Result]:
    """
    Fit a line to every kind of allocation that was measured at enough sizes: the time of no bytes,
    the bytes a second beyond (waived if their number hardly matters), and the largest relative
    error.
    """
    found = []
    for curve in _allocation_curves(results).values():
        line = fit_line({result.bytes: result.median or 0.0 for result in curve})
        if line is not None:
            largest = max(curve, key=lambda result: result.bytes)
            found += _allocation_results(line, _without_live(largest), len(curve))
    return found


def _allocation_curves(results: Sequence[Result]) -> dict[tuple[object, ...], list[Result]]:
    curves: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        if result.suite != "alloc" or result.metric != Metric.PAIR or not result.median:
            continue
        if result.status == Status.PASSED:
            alike = _without_live(result).axes
            curves.setdefault((result.test, *sorted(alike.items())), []).append(result)
    return curves


def _without_live(result: Result) -> Result:
    """Leave out the circumstance of how many are alive, which doesn't matter here."""
    axes = {name: value for name, value in result.axes.items() if name != LIVE}
    return result.model_copy(update={"axes": axes})


def _allocation_results(line: Line, largest: Result, num_sizes: int) -> list[Result]:
    def number(metric: Metric, unit: str, value: float) -> Result:
        spread = Spread(value, value, value)
        return derived_result(largest, metric, unit, spread, num_points=num_sizes)

    if line.s_per_byte * largest.bytes < line.start_s:
        reason = f"up to {format_size(largest.bytes)} bytes cost less than the call itself"
        rate = no_derived_result(largest, Metric.ALLOCATION_RATE, "B/s", reason)
    else:
        rate = number(Metric.ALLOCATION_RATE, "B/s", 1 / line.s_per_byte)
    return [
        number(Metric.ALLOCATION_START, "s", line.start_s),
        rate,
        number(Metric.ALLOCATION_ERROR, "1", line.worst_error),
    ]
