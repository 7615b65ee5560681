"""How much slower each process of two runs was, family by family, and how much processes differ."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, log
from statistics import fmean, median

from isthmus.measure.run.result import Result

Costs = tuple[float | None, ...]
"""The logarithm of a result's cost (its time, or one over its rate) in each process."""


@dataclass(frozen=True, kw_only=True)
class Levels:
    """
    The levels of a family in the processes of two runs. A level is the median, over the family's
    results, of the logarithm of a cost relative to the middle of both runs: 0.01 is one percent
    slower than the middle.

    Attributes:
        before: One for each process of the earlier run.
        after: One for each process of the later run.
    """

    before: tuple[float, ...]
    after: tuple[float, ...]
    num_results: int

    @property
    def shift(self) -> float:
        """How much slower the later run is, as a logarithm."""
        return fmean(self.after) - fmean(self.before)

    @property
    def freedom(self) -> int:
        """Degrees of freedom of `drift`; 0 if neither run was repeated."""
        return len(self.before) + len(self.after) - 2

    @property
    def drift(self) -> float | None:
        """The standard deviation between processes of one run; None if neither was repeated."""
        if self.freedom == 0:
            return None
        squares = [
            (level - fmean(levels)) ** 2 for levels in (self.before, self.after) for level in levels
        ]
        return float((sum(squares) / self.freedom) ** 0.5)


def costs_of(result: Result) -> Costs | None:
    """
    Give a result's costs: one for each process, None without a usable number; a single one if the
    run wasn't repeated, and None if there are none.
    """
    if result.repeats is None:
        cost = _cost(result.median, result.unit)
        return None if cost is None else (cost,)
    costs = tuple(_cost(value, result.unit) for value in result.repeats)
    return costs if any(cost is not None for cost in costs) else None


def levels_of(pairs: Iterable[tuple[Result, Result]]) -> Levels | None:
    """
    Measure a family's levels from its results before and after; None if no result has a number in
    both runs.
    """
    known = [
        (before, after)
        for one, other in pairs
        if (before := costs_of(one)) is not None and (after := costs_of(other)) is not None
    ]
    if not known:
        return None
    sides: tuple[list[Costs], list[Costs]] = ([], [])
    for before, after in known:
        middle = (_mean(before) + _mean(after)) / 2
        for side, costs in zip(sides, (before, after), strict=True):
            side.append(tuple(None if cost is None else cost - middle for cost in costs))
    before_levels, after_levels = (_by_process(side) for side in sides)
    return Levels(before=before_levels, after=after_levels, num_results=len(known))


def _by_process(results: Sequence[Costs]) -> tuple[float, ...]:
    processes = range(max(map(len, results)))
    columns = ([r[p] for r in results if p < len(r)] for p in processes)
    present = ([cost for cost in column if cost is not None] for column in columns)
    return tuple(median(column) for column in present if column)


def _cost(value: float | None, unit: str) -> float | None:
    if value is None or not isfinite(value) or value <= 0:
        return None
    return -log(value) if unit == "B/s" else log(value)


def _mean(costs: Costs) -> float:
    return fmean(cost for cost in costs if cost is not None)
