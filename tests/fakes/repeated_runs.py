"""Runs whose repeats a test chooses: every result of the fakes, with costs drawn at random."""

import functools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from fakes import runs
from isthmus.measure.bench.repeats import drift_of
from isthmus.measure.run.model import Result, Run, Status


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Standard deviations of logarithms: between processes, and between results of one."""

    processes: float
    results: float = 0.002


@functools.cache
def _quiet() -> Run:
    return runs.run()


def repeated(
    chance: random.Random, noise: Noise, *, processes: int = 5, slower: float = 1.0
) -> Run:
    """Give a run whose results are so many times slower than the fakes', but for noise."""
    levels = [chance.gauss(0, noise.processes) for _ in range(processes)]
    run = _quiet()
    results = [_noisy(r, levels, noise.results, slower, chance) for r in run.results]
    return run.model_copy(update={"results": results})


def _noisy(
    result: Result, levels: Sequence[float], spread: float, slower: float, chance: random.Random
) -> Result:
    if result.status != Status.PASSED or not result.stopped_by or result.unit not in {"s", "B/s"}:
        return result
    costs = [slower * exp(level + chance.gauss(0, spread)) for level in levels]
    median = result.median or 0.0
    medians = [median / cost if result.unit == "B/s" else median * cost for cost in costs]
    middle = sorted(medians)[len(medians) // 2]
    return result.model_copy(
        update={"median": middle, "repeats": list(medians), "drift": drift_of(medians)}
    )
