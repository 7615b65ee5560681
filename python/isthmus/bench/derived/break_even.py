"""
When pinning host memory pays off: derived from its cost, and from the time that copies save.

The question is M. Boyer's: memory that is allocated, copied once and freed should be pageable up to
some size; memory that is copied again and again should be pinned from some number of copies on.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isthmus.bench.derived.derived_result import Spread, derived_result, no_derived_result
from isthmus.bench.metrics import Metric
from isthmus.bench.tests.memory_life import LIFE_MEMORIES, MEMORY
from isthmus.run.result import Result, Status

_LIFE = "host_memory_life"
_PAGEABLE, _PINNED = "pageable", "pinned"
_WAYS = {
    Metric.BREAK_EVEN_ONE_WAY: Metric.LIFE_ONE_WAY,
    Metric.BREAK_EVEN_BOTH_WAYS: Metric.LIFE_BOTH_WAYS,
}
# The results of one test and metric, by size.
_Curve = dict[int, Result]


def break_evens(results: Sequence[Result]) -> list[Result]:
    """
    Compare every kind of pinned memory with pageable memory.

    Args:
        results: The results of one run.

    Returns:
        For each kind the size from which allocating, one upload (or one copy each way) and freeing
        take less time than with pageable memory, and the two sizes between which it is; and
        for each size the number of uploads from which they do. Waived if they
        never do.
    """
    found = []
    for memory in LIFE_MEMORIES:
        if memory == _PAGEABLE:
            continue
        for metric, way in _WAYS.items():
            pinned, pageable = _curve(results, way, memory), _curve(results, way, _PAGEABLE)
            found += _sizes_of(metric, pinned, pageable)
        found += _copies_of(results, memory)
    return found


def pinned_gains(results: Sequence[Result]) -> list[Result]:
    """For every large copy, divide the speed of pinned memory by that of pageable memory."""
    found = []
    for result in results:
        if result.suite != "pinned_vs_pageable" or result.axes.get(MEMORY) != _PINNED:
            continue
        pageable = next((r for r in results if _is_rival(r, result)), None)
        if pageable is None or not result.median or not pageable.median:
            continue
        low, high = _quartiles(result)
        slow, quick = _quartiles(pageable)
        gain = Spread(result.median / pageable.median, low / quick, high / slow)
        found.append(derived_result(result, Metric.PINNED_GAIN, "1", gain))
    return found


def _is_rival(other: Result, result: Result) -> bool:
    same = other.test == result.test and other.bytes == result.bytes
    return same and other.metric == result.metric and other.axes.get(MEMORY) == _PAGEABLE


def _curve(results: Sequence[Result], metric: Metric, memory: str) -> _Curve:
    return {
        result.bytes: result
        for result in results
        if result.test == _LIFE
        and result.status == Status.PASSED
        and result.median
        and result.metric == metric
        and result.axes.get(MEMORY) == memory
    }


def _sizes_of(metric: Metric, pinned: _Curve, pageable: _Curve) -> list[Result]:
    sizes = sorted(pinned.keys() & pageable.keys())
    if not sizes:
        return []
    last = pinned[sizes[-1]]
    ratios = [(pinned[size].median or 0) / (pageable[size].median or 1) for size in sizes]
    losses = [index for index, ratio in enumerate(ratios) if ratio >= 1]
    if not losses:
        # It wins at the smallest size already: the true size may be smaller.
        return [
            derived_result(last, metric, "B", Spread(sizes[0], 0, sizes[0]), num_points=len(sizes))
        ]
    lost = losses[-1]
    if lost == len(sizes) - 1:
        reason = f"it takes longer than pageable memory at {sizes[-1]} B, the largest measured"
        return [no_derived_result(last, metric, "B", reason)]
    middle = _crossing(sizes[lost : lost + 2], ratios[lost : lost + 2])
    spread = Spread(middle, sizes[lost], sizes[lost + 1])
    return [derived_result(last, metric, "B", spread, num_points=len(sizes))]


def _crossing(sizes: Sequence[int], ratios: Sequence[float]) -> float:
    """Find where a ratio passes 1 between two sizes, on a straight line in logarithmic scale."""
    left, right = math.log(ratios[0]), math.log(ratios[1])
    share = left / (left - right)
    return math.exp(math.log(sizes[0]) * (1 - share) + math.log(sizes[1]) * share)


def _copies_of(results: Sequence[Result], memory: str) -> list[Result]:
    def steps(kind: str) -> Mapping[Metric, _Curve]:
        wanted = (Metric.ALLOCATE, Metric.FREE, Metric.LIFE_UPLOAD)
        return {metric: _curve(results, metric, kind) for metric in wanted}

    ours, theirs = steps(memory), steps(_PAGEABLE)
    sizes = set.intersection(*(set(c) for curves in (ours, theirs) for c in curves.values()))
    return [
        _uploads_that_pay(
            {metric: curve[size] for metric, curve in ours.items()},
            {metric: curve[size] for metric, curve in theirs.items()},
        )
        for size in sorted(sizes)
    ]


def _uploads_that_pay(ours: Mapping[Metric, Result], theirs: Mapping[Metric, Result]) -> Result:
    """Divide the additional cost of the memory by the time that each upload saves."""
    metric, result = Metric.BREAK_EVEN_COPIES, ours[Metric.LIFE_UPLOAD]
    cost = _difference(
        [ours[Metric.ALLOCATE], ours[Metric.FREE]], [theirs[Metric.ALLOCATE], theirs[Metric.FREE]]
    )
    saving = _difference([theirs[Metric.LIFE_UPLOAD]], [ours[Metric.LIFE_UPLOAD]])
    if saving.middle <= 0 <= cost.middle:
        return no_derived_result(result, metric, "1", "an upload from it takes no less time")
    if saving.middle < 0:
        most = cost.middle / saving.middle
        reason = f"it costs less to have, and each upload takes longer: ahead for {most:.1f} only"
        return no_derived_result(result, metric, "1", reason)
    return derived_result(result, metric, "1", _quotient(cost, saving))


def _quotient(cost: "_Difference", saving: "_Difference") -> Spread:
    """Divide; memory that costs no more has paid off before the first upload."""
    middle = cost.middle / saving.middle if cost.middle > 0 else 0.0
    low = cost.low / saving.high if cost.low > 0 else 0.0
    if cost.high <= 0:
        return Spread(middle, low, 0.0)
    # If by the quartiles nothing is saved, the number has no upper end.
    return Spread(middle, low, cost.high / saving.low if saving.low > 0 else None)


@dataclass(frozen=True)
class _Difference:
    """How much more time one thing takes than another: by medians, at best and at worst."""

    middle: float
    low: float
    high: float


def _difference(more: Sequence[Result], less: Sequence[Result]) -> _Difference:
    """Subtract sums of times, with the quartiles' worst and best."""
    more_low, more_high = _summed(more)
    less_low, less_high = _summed(less)
    middle = sum(r.median or 0.0 for r in more) - sum(r.median or 0.0 for r in less)
    return _Difference(middle, more_low - less_high, more_high - less_low)


def _summed(results: Sequence[Result]) -> tuple[float, float]:
    quartiles = [_quartiles(result) for result in results]
    return sum(low for low, _ in quartiles), sum(high for _, high in quartiles)


def _quartiles(result: Result) -> tuple[float, float]:
    """Half an interquartile range on both sides of the median, within minimum and maximum."""
    median, half = result.median or 0.0, (result.iqr or 0.0) / 2
    return max(median - half, result.min or 0.0), min(median + half, result.max or median + half)
