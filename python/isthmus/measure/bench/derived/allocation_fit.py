"""The cost of each further byte: the line through the times of one kind of memory."""

from collections.abc import Sequence

from isthmus.ground.sizes import format_size
from isthmus.measure.bench.derived.fit import Line, fit_line
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.alloc import LIVE
from isthmus.measure.run.derived_result import Spread, derived_result, no_derived_result
from isthmus.measure.run.result import Result, Status


def allocation_fits(results: Sequence[Result]) -> list[Result]:
    """
    Fit a line to every kind of allocation that was measured at enough sizes: the time of no bytes,
    the bytes a second beyond (waived if their number hardly matters), and the largest relative
    error.
    """
    found = []
    for curve in _curves(results).values():
        line = fit_line({result.bytes: result.median or 0.0 for result in curve})
        if line is not None:
            largest = max(curve, key=lambda result: result.bytes)
            found += _results_of(line, _without_live(largest), len(curve))
    return found


def _curves(results: Sequence[Result]) -> dict[tuple[object, ...], list[Result]]:
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


def _results_of(line: Line, largest: Result, num_sizes: int) -> list[Result]:
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
