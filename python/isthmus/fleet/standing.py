"""
How each GPU stands in its class: families of results, judged as `isthmus compare` judges them.

The method and what it was measured with: docs/adr/0017-judging-fleets.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import exp, log1p, sqrt
from statistics import median

from isthmus.compare.families import Family
from isthmus.compare.judging import STATED, holm, in_unit
from isthmus.compare.levels import Costs
from isthmus.compare.student import upper_tail
from isthmus.compare.subject import Subject
from isthmus.fleet.measured import Gpu

FEWEST = 4
"""Of fewer equal GPUs, none can be told from the others."""
# The standard deviation of normal numbers over their median absolute deviation, and how many of
# n such numbers are as good as n for the deviation. Source: Rousseeuw & Croux, 1993.
_FROM_MAD = 1.4826
_EFFICIENCY = 0.37
# The stated drift counts as much as that of so many GPUs: in small classes, hardly anything is
# known of the class's own.
_STATED_FREEDOM = 2.0
# Real runs are off by many deviations more often than normal numbers, however many GPUs there are.
_MOST_FREEDOM = 10.0
# exp() of more overflows: a run can have any number.
_LARGEST = 700.0

Levels = tuple[tuple[datetime, float], ...]
"""The level of each process, with the time at which its run began."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """
    One family of one GPU, beside its class.

    Attributes:
        family: The family.
        shift: How much slower than the class's median it is, as the logarithm of a ratio of costs.
        error: The standard error of `shift`.
        num_repeats: How many processes measured it.
        num_slow: In how many of them it was slower than the tolerance, and by half of `shift`.
        tail: The probability of such a shift if the GPU lost no more than the tolerance.
        history: The shift of each process, with the time at which its run began.
        slow: Whether it is called slow.
    """

    family: Family
    shift: float
    error: float
    num_repeats: int
    num_slow: int
    tail: float
    history: Levels
    slow: bool = False

    @property
    def relative_cost(self) -> float:
        """The cost over the class's median: 1.1 is a tenth more time. At most 1e304."""
        return exp(min(self.shift, _LARGEST))

    @property
    def change(self) -> float:
        """The difference from the class's median in the family's unit: -0.1 is 10 % less."""
        return in_unit(self.shift, self.family.unit)


def standings(
    classes: Iterable[Sequence[Gpu]], families: Mapping[Subject, Family], tolerance: float
) -> dict[int, list[Standing]]:
    """
    Judge every family of every GPU, all together.

    Args:
        classes: The GPUs of each class.
        families: The family of each subject.
        tolerance: A fraction: up to so much more cost is the same.

    Returns:
        The standings of each GPU, the slowest first, by `id` of the GPU.
    """
    found: dict[tuple[int, Family], Standing] = {}
    for gpus in classes:
        if len(gpus) < FEWEST:
            continue
        for family, levels in _levels(gpus, families).items():
            for index, standing in _in_class(family, levels, tolerance).items():
                found[id(gpus[index]), family] = standing
    slow = holm({key: standing.tail for key, standing in found.items()})
    by_gpu: dict[int, list[Standing]] = {}
    for key, standing in found.items():
        by_gpu.setdefault(key[0], []).append(replace(standing, slow=key in slow))
    for own in by_gpu.values():
        own.sort(key=lambda one: (not one.slow, -one.shift))
    return by_gpu


def _levels(
    gpus: Sequence[Gpu], families: Mapping[Subject, Family]
) -> dict[Family, dict[int, Levels]]:
    """
    Give the levels of each family: one for each process of each GPU.

    As in `compare.levels`, a level is the median, over the family's results, of the logarithm of a
    cost relative to the middle; here that is the median of the class.
    """
    centres = _centres(gpus)
    found: dict[Family, dict[int, Levels]] = {}
    for index, gpu in enumerate(gpus):
        own: dict[Family, list[tuple[datetime, float]]] = {}
        for costs, (begun, _) in zip(gpu.costs, gpu.times, strict=True):
            by_process: dict[tuple[Family, int], list[float]] = {}
            for subject, values in costs.items():
                centre = centres.get(subject)
                if centre is None:
                    continue
                for process, value in enumerate(values):
                    if value is not None:
                        key = (families[subject], process)
                        by_process.setdefault(key, []).append(value - centre)
            for (family, _), differences in by_process.items():
                own.setdefault(family, []).append((begun, median(differences)))
        for family, levels in own.items():
            found.setdefault(family, {})[index] = tuple(levels)
    return found


def _centres(gpus: Sequence[Gpu]) -> dict[Subject, float]:
    """Give the class's median of each cost that at least half of its GPUs have."""
    costs: dict[Subject, list[float]] = {}
    for gpu in gpus:
        own: dict[Subject, list[float]] = {}
        for run in gpu.costs:
            for subject, values in run.items():
                own.setdefault(subject, []).extend(_known(values))
        for subject, known in own.items():
            if known:
                costs.setdefault(subject, []).append(median(known))
    fewest = max(FEWEST, (len(gpus) + 1) // 2)
    return {subject: median(found) for subject, found in costs.items() if len(found) >= fewest}


def _known(costs: Costs) -> list[float]:
    return [cost for cost in costs if cost is not None]


def _in_class(
    family: Family, levels: Mapping[int, Levels], tolerance: float
) -> dict[int, Standing]:
    if len(levels) < FEWEST:
        return {}
    middles = {index: median(level for _, level in own) for index, own in levels.items()}
    centre = median(middles.values())
    usual_repeats = median(len(own) for own in levels.values())
    spread = _Spread.of(family, [middle - centre for middle in middles.values()], usual_repeats)
    found = {}
    for index, own in levels.items():
        error = spread.deviation * sqrt(max(1.0, usual_repeats / len(own)))
        shift = middles[index] - centre
        found[index] = Standing(
            family=family,
            shift=shift,
            error=error,
            num_repeats=len(own),
            num_slow=sum(level - centre > max(log1p(tolerance), shift / 2) for _, level in own),
            tail=upper_tail((shift - log1p(tolerance)) / error, spread.freedom),
            history=tuple((begun, level - centre) for begun, level in own),
        )
    return found


@dataclass(frozen=True, kw_only=True)
class _Spread:
    """How much equal GPUs differ: standard deviation, and its degrees of freedom."""

    deviation: float
    freedom: float

    @staticmethod
    def of(family: Family, differences: Sequence[float], repeats: float = 1) -> "_Spread":
        stated = STATED["staged" if family.staged else family.clock]
        measured = _FROM_MAD * median(map(abs, differences))
        freedom = _EFFICIENCY * (len(differences) - 1)
        # As between runs in `compare`: what repeats of one run can't show is added.
        known = stated.processes**2 / repeats + stated.runs**2
        squared = (_STATED_FREEDOM * known + freedom * measured**2) / (_STATED_FREEDOM + freedom)
        counted = min(_STATED_FREEDOM + freedom, _MOST_FREEDOM)
        return _Spread(deviation=sqrt(squared), freedom=counted)
