"""Finds for each published figure the result of a run that measures the same."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isthmus.ground.life import Life
from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run, Status
from isthmus.reproduce.publication import Figure, Ours, Publication

NOT_THIS_SIZE = "this size was not measured"
# They say how often something was done, not what.
_COUNTS = frozenset({"live", "iterations", "runs"})
# Between sizes that are farther apart, a straight line says little.
_FARTHEST = 16


@dataclass(frozen=True, kw_only=True)
class Number:
    """
    Our number for a figure.

    Attributes:
        low: In B/s, seconds or bytes, or a ratio; the least of a range.
        high: The most of a range; otherwise as `low`.
        between: The two measured sizes that it is between, if its own wasn't measured.
        at_most: The true number may be lower: it is the smallest size that was measured.
        words: Words instead of the number, such as "never, up to 64 MiB".
        spread: The least and the most of its runs; None if theirs don't show them.
    """

    low: float
    high: float
    between: tuple[int, int] | None = None
    at_most: bool = False
    words: str | None = None
    spread: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Pair:
    """
    A published figure, and ours.

    Attributes:
        ours: Ours; None if the run doesn't have it.
        why_not: Why it doesn't; empty if it does.
    """

    figure: Figure
    ours: Number | None
    why_not: str = ""

    @property
    def ratio(self) -> float | None:
        """
        Divide ours by theirs: 1 within their range, by its nearer end outside; None if either isn't
        a number.
        """
        ours, figure = self.ours, self.figure
        if ours is None or ours.words is not None:
            return None
        theirs = figure.scaled(figure.value)
        if theirs is not None:
            return math.sqrt(ours.low * ours.high) / theirs
        low, high = figure.scaled(figure.low), figure.scaled(figure.high)
        if low is not None and ours.high < low:
            return ours.high / low
        if high is not None and ours.low > high:
            return ours.low / high
        return None if low is None and high is None else 1.0


def pairs_of(publication: Publication, run: Run) -> list[Pair]:
    """
    Put ours beside each published figure; behind them, ours at sizes that theirs lack. A number
    between two sizes that were measured stands beside a single figure, not beside one of a series,
    which has others.
    """
    in_series = [one for series in publication.series for one in series.figures()]
    return [
        *(_pair(figure, run.results, exactly=True) for figure in in_series),
        *(
            _pair(figure, run.results, exactly=False)
            for published in publication.figure
            for figure in _in_both_lives(published)
        ),
        *_ours_alone(publication.figures(), run.results),
    ]


def _in_both_lives(figure: Figure) -> list[Figure]:
    """Put both of our answers beside a size from which memory pays: steady, and the first time."""
    if not figure.ours.metric.startswith("break_even_"):
        return [figure]
    axes = [figure.ours.axes | {"life": life.value} for life in Life]
    ours = [figure.ours.model_copy(update={"axes": one}) for one in axes]
    return [
        figure.model_copy(update={"quantity": f"{figure.quantity}, {life}", "ours": one})
        for life, one in zip(Life, ours, strict=True)
    ]


def _ours_alone(figures: Sequence[Figure], results: Sequence[Result]) -> Iterable[Pair]:
    """Give ours at sizes that were measured and not published, once for each test and metric."""
    shown = {(figure.table, str(figure.ours), figure.bytes) for figure in figures}
    nothing: dict[str, object] = dict.fromkeys(("value", "min", "max", "low", "high", "said"))
    for figure in figures:
        for size in _by_size(_matching(results, figure.ours)) if figure.other_sizes else ():
            name = (figure.table, str(figure.ours), size)
            if name not in shown:
                shown.add(name)
                alone = figure.model_copy(update=nothing | {"bytes": size})
                yield _pair(alone, results, exactly=True)


def _pair(figure: Figure, results: Sequence[Result], *, exactly: bool) -> Pair:
    found = _matching(results, figure.ours)
    if figure.over is not None:
        number = _ratio(figure, found, _matching(results, figure.over))
    elif figure.bytes is not None:
        number = _at_size(figure, figure.bytes, found, exactly=exactly)
    else:
        number = _derived(found)
    why_not = "" if number is not None else _why_not(figure, results, found)
    return Pair(figure=figure, ours=number, why_not=why_not)


def _matching(results: Iterable[Result], ours: Ours) -> list[Result]:
    """List results in the plain circumstances: one thread, warm caches, near memory."""
    nodes = {None, "near"} if ours.cpu_node is None else {ours.cpu_node}
    found = [
        result
        for result in results
        if (result.test, result.metric) == (ours.test, ours.metric)
        and (result.cpu_cache, result.num_threads, result.data) == ("warm", 1, None)
        and result.cpu_node in nodes
        and {name: value for name, value in result.axes.items() if name not in _COUNTS} == ours.axes
    ]
    if ours.statistic == "mean":
        found = [_by_mean(result) for result in found]
    return sorted(found, key=lambda result: result.bytes)


def _by_mean(result: Result) -> Result:
    """Show the mean as the median; older runs have none."""
    return result if result.mean is None else result.model_copy(update={"median": result.mean})


def _by_size(results: Iterable[Result]) -> dict[int, float]:
    return {result.bytes: result.median for result in results if result.median}


def _at_size(figure: Figure, size: int, found: Sequence[Result], *, exactly: bool) -> Number | None:
    values = _by_size(found)
    if size in values:
        runs = [result for result in found if result.bytes == size and result.median][-1]
        ends = (runs.min, runs.max) if figure.ours.spread and runs.min and runs.max else None
        return Number(low=values[size], high=values[size], spread=ends)
    if exactly:
        return None
    below = max((other for other in values if other < size), default=None)
    above = min((other for other in values if other > size), default=None)
    if below is None or above is None or above > _FARTHEST * below:
        return None
    between = _between(size, (below, values[below]), (above, values[above]))
    return Number(low=between, high=between, between=(below, above))


def _between(size: int, low: tuple[int, float], high: tuple[int, float]) -> float:
    """Read a straight line through two points in logarithmic scales."""
    part = math.log(size / low[0]) / math.log(high[0] / low[0])
    return math.exp(math.log(low[1]) * (1 - part) + math.log(high[1]) * part)


def _ratio(figure: Figure, upper: Sequence[Result], lower: Sequence[Result]) -> Number | None:
    least = figure.bytes or figure.from_bytes or 0
    most = figure.bytes or figure.to_bytes or math.inf
    lower_bytes = figure.over.bytes if figure.over else None
    above, below = _by_size(upper), _by_size(lower)
    ratios = {
        size: above[size] / below[lower_bytes or size]
        for size in above
        if (lower_bytes or size) in below and least <= size <= most
    }
    if not ratios:
        return None
    if not figure.at_largest:
        return Number(low=min(ratios.values()), high=max(ratios.values()))
    largest = max(ratios)
    return Number(low=ratios[largest], high=ratios[largest])


def _derived(found: Sequence[Result]) -> Number | None:
    """Give the sizes between which something begins to pay off, or say that it never does."""
    if not found:
        return None
    result = found[-1]
    if result.status == Status.WAIVED:
        return Number(low=0.0, high=0.0, words=f"never, up to {format_size(result.bytes)}")
    if result.median is None:
        return None
    if not result.min:
        return Number(low=result.median, high=result.median, at_most=True)
    return Number(low=result.min, high=result.max or result.median)


def _why_not(figure: Figure, results: Sequence[Result], found: Sequence[Result]) -> str:
    """Give the reason of the nearest result that has one."""
    of_test = [result for result in results if result.test == figure.ours.test]
    for some in (found, of_test):
        for result in some:
            if result.status != Status.PASSED and figure.bytes in {None, result.bytes}:
                return result.error.message if result.error else result.reason or NOT_THIS_SIZE
    if found and figure.bytes is not None:
        return NOT_THIS_SIZE
    return f"{figure.ours.test} was not measured"
