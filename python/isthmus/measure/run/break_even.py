"""
When pinning host memory pays off: derived from its cost, and from the time that copies save.

The question is M. Boyer's: memory that is allocated, copied once and freed should be pageable up to
some size. From which number of copies on it pays says `isthmus advise`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from isthmus.ground.life import Life
from isthmus.measure.run.result import Result, Spread, Status, derived_result, no_derived_result

MEMORY, LIFE = "memory", "life"
_LIVES, _PAGEABLE, _PINNED = "host_memory_life", "pageable", "pinned"
_PREFIX = "break_even_"
# What a program does again and again to have memory of each kind: tests, and axes.
_MALLOC = ("alloc_malloc", {"pages": "touched"})
_CUDA_MALLOC_HOST = "alloc_cuda_malloc_host"
_STEADY: Mapping[str, Sequence[tuple[str, Mapping[str, str]]]] = {
    _PAGEABLE: (_MALLOC,),
    _PINNED: ((_CUDA_MALLOC_HOST, {}),),
    "registered": (_MALLOC, ("alloc_cuda_host_register", {"pages": "touched"})),
}
# New pages take so many times as long as a block that was kept.
_KEPT = 4
# The results of one test and metric, by size.
_Curve = dict[int, Result]


def break_evens(results: Sequence[Result]) -> list[Result]:
    """
    Compare every kind of pinned memory with pageable memory, in both lives (the axis `life`): from
    which size allocating, one upload (or one copy each way) and freeing take less time, and between
    which two sizes that is; waived if they never do. Steady, memory is had one block at a time; the
    first time, its pages are new: those of lives, and pinned blocks of which several stay alive.
    """
    measured = [r for r in results if r.suite == "alloc" and r.status == Status.PASSED and r.median]
    found = []
    for memory in dict.fromkeys(str(r.axes[MEMORY]) for r in measured if r.test == _LIVES):
        for life in Life if memory != _PAGEABLE else ():
            compared = _compared(_lives(measured, memory, life), _lives(measured, _PAGEABLE, life))
            axes = {MEMORY: memory, LIFE: life.value}
            found += [one.model_copy(update={"axes": axes}) for one in compared]
    return found


def with_both_lives(results: Sequence[Result]) -> list[Result]:
    """Derive break-evens again in results of versions that told no lives apart."""
    old = [r for r in results if r.metric.startswith(_PREFIX) and LIFE not in r.axes]
    if not old:
        return list(results)
    kept = [r for r in results if not r.metric.startswith(_PREFIX)]
    return [*kept, *break_evens(kept)]


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
        found.append(derived_result(result, "pinned_gain", "1", gain))
    return found


def _is_rival(other: Result, result: Result) -> bool:
    same = other.test == result.test and other.bytes == result.bytes
    return same and other.metric == result.metric and other.axes.get(MEMORY) == _PAGEABLE


@dataclass(frozen=True)
class _Lived:
    """The steps of one life: what has the memory and frees it, and its copies."""

    having: list[Result]
    upload: Result
    download: Result

    @property
    def one_way(self) -> float:
        return sum(step.median or 0.0 for step in (*self.having, self.upload))

    @property
    def both_ways(self) -> float:
        return self.one_way + (self.download.median or 0.0)


def _lives(results: Sequence[Result], memory: str, life: Life) -> dict[int, _Lived]:
    of_memory = {MEMORY: memory}
    copies = [_curve(results, _LIVES, step, of_memory) for step in ("life_upload", "life_download")]
    if life == Life.STEADY:
        having = [
            _curve(results, test, step, axes)
            for test, axes in _STEADY.get(memory, ())
            for step in ("allocate", "free")
        ]
    else:
        having = [_curve(results, _LIVES, step, of_memory) for step in ("allocate", "free")]
    if memory == _PINNED and life == Life.FIRST_TIME:
        having = [
            _with_new_pages(one, _curve(results, _CUDA_MALLOC_HOST, f"{step}_live", {}))
            for one, step in zip(having, ("allocate", "free"), strict=True)
        ]
    sizes = set.intersection(*map(set, [*having, *copies])) if having else set[int]()
    return {
        size: _Lived([curve[size] for curve in having], *(curve[size] for curve in copies))
        for size in sorted(sizes)
    }


def _with_new_pages(lives: _Curve, alive: _Curve) -> _Curve:
    """Take blocks that stay alive where lives got the block that the driver had kept."""
    kept = {
        size
        for size, one in lives.items()
        if size in alive and (alive[size].median or 0) > _KEPT * (one.median or 0)
    }
    return lives | {size: alive[size] for size in kept} if alive else {}


def _curve(results: Iterable[Result], test: str, metric: str, axes: Mapping[str, str]) -> _Curve:
    wanted = {"pages": None, MEMORY: None} | dict(axes)
    return {
        r.bytes: r
        for r in results
        if (r.test, r.metric) == (test, metric)
        and all(r.axes.get(name) == value for name, value in wanted.items())
    }


def _compared(ours: Mapping[int, _Lived], theirs: Mapping[int, _Lived]) -> list[Result]:
    sizes = [size for size in ours if size in theirs]
    if not sizes:
        return []
    one_way = [ours[size].one_way / theirs[size].one_way for size in sizes]
    both = [ours[size].both_ways / theirs[size].both_ways for size in sizes]
    last = ours[sizes[-1]].upload
    return [
        _size(last, "break_even_one_way", sizes, one_way),
        _size(last, "break_even_both_ways", sizes, both),
    ]


def _size(last: Result, metric: str, sizes: Sequence[int], ratios: Sequence[float]) -> Result:
    """Find from which size on a ratio stays below 1."""
    losses = [index for index, ratio in enumerate(ratios) if ratio >= 1]
    if not losses:
        # It wins at the smallest size already: the true size may be smaller.
        spread = Spread(sizes[0], 0, sizes[0])
        return derived_result(last, metric, "B", spread, num_points=len(sizes))
    lost = losses[-1]
    if lost == len(sizes) - 1:
        reason = f"it takes longer than pageable memory at {sizes[-1]} B, the largest measured"
        return no_derived_result(last, metric, "B", reason)
    middle = _crossing(sizes[lost : lost + 2], ratios[lost : lost + 2])
    spread = Spread(middle, sizes[lost], sizes[lost + 1])
    return derived_result(last, metric, "B", spread, num_points=len(sizes))


def _crossing(sizes: Sequence[int], ratios: Sequence[float]) -> float:
    """Find where a ratio passes 1 between two sizes, on a straight line in logarithmic scale."""
    left, right = math.log(ratios[0]), math.log(ratios[1])
    share = left / (left - right)
    return math.exp(math.log(sizes[0]) * (1 - share) + math.log(sizes[1]) * share)


def _quartiles(result: Result) -> tuple[float, float]:
    """Half an interquartile range on both sides of the median, within minimum and maximum."""
    median, half = result.median or 0.0, (result.iqr or 0.0) / 2
    return max(median - half, result.min or 0.0), min(median + half, result.max or median + half)
