"""
How each GPU stands in its class: families of results, judged as `isthmus compare` judges them.

The method and what it was measured with: docs/adr/0017-judging-fleets.md.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate
from math import exp, log1p, sqrt
from statistics import median

from isthmus.fleet.measured import Gpu
from isthmus.fleet.places import AT_ONCE
from isthmus.measure.compare.families import Family, Subject
from isthmus.measure.compare.judging import STATED, holm, in_unit, upper_tail
from isthmus.measure.compare.levels import Costs

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
TOGETHER = Family(name="all families together", unit="s", clock="device")
"""The evidence of all families: a small loss in each of them is seen here first."""
_FEWEST_TOGETHER = 3
# A GPU that isn't like its class has lost more than the tolerance with this certainty.
_CERTAIN = 0.05
# What is beyond any drift ever seen in every process needs no more certainty than this.
_BEYOND_DRIFT = 0.001
_FAR_BEYOND, _FEWEST_BEYOND = 1.5, 3
# Both groups of a class that is divided in two have so many GPUs, and this part of them.
_FEWEST_OF_GROUP, _LEAST_OF_GROUP = 3, 1 / 4
AGAINST_ALONE = f"{AT_ONCE} against one alone"
"""Ends the name of a family whose level is what a GPU loses while the others copy."""

Levels = tuple[tuple[datetime, float], ...]
"""The level of each process, with the time at which its run began."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """
    One family of one GPU, beside its class.

    Attributes:
        shift: How much slower than the class's median it is, as the logarithm of a ratio of costs.
        num_slow: In how many processes it was slower than the tolerance, and by half of `shift`.
        tail: The probability of such a shift if the GPU lost no more than the tolerance.
        tolerated: The probability of a shift of no more than the tolerance, for `TOGETHER`.
        behind: How much slower than the faster group it is, where a class is divided in two; or 0.
        is_beyond: Whether each of three or more processes was far slower than drift ever made one.
    """

    family: Family
    shift: float
    error: float
    num_repeats: int
    num_slow: int
    tail: float
    usual: float
    tolerated: float = 0.0
    is_beyond: bool = False
    behind: float = 0.0
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
    Judge every family of every GPU, all together, the slowest first, by `id` of the GPU; up to
    `tolerance`, a fraction, more cost is the same.
    """
    found: dict[tuple[int, Family], Standing] = {}
    for gpus in classes:
        if len(gpus) < FEWEST:
            continue
        spreads: list[_Spread] = []
        levels = _levels(gpus, families)
        for family, by_gpu in levels.items():
            spread = _spread(family, by_gpu)
            if spread is not None:
                spreads.append(spread)
                slower, gap = _slower_group(family, by_gpu, tolerance)
                for index, standing in spread.standings(by_gpu, tolerance).items():
                    behind = gap if index in slower else 0.0
                    found[id(gpus[index]), family] = replace(standing, behind=behind)
        for index, standing in _together(spreads, levels, tolerance).items():
            found[id(gpus[index]), TOGETHER] = standing
    # Half of the false alarms are allowed to the families, and half to all of them together.
    tails = {key: 2 * standing.tail for key, standing in found.items()}
    together = {key: tail for key, tail in tails.items() if key[1] == TOGETHER}
    slow = holm({key: tail for key, tail in tails.items() if key not in together})
    slow |= {key for key in holm(together) if found[key].tolerated <= _CERTAIN}
    slow |= {key for key, one in found.items() if one.is_beyond and one.tail <= _BEYOND_DRIFT}
    ordered: dict[int, list[Standing]] = {}
    for key, standing in found.items():
        ordered.setdefault(key[0], []).append(replace(standing, slow=key in slow))
    for own in ordered.values():
        own.sort(key=lambda one: (not one.slow, one.family == TOGETHER, -one.shift))
    return ordered


def _levels(
    gpus: Sequence[Gpu], families: Mapping[Subject, Family]
) -> dict[Family, dict[int, Levels]]:
    """
    Give the levels of each family, one for each process of each GPU, as in `compare.levels`, but
    relative to the median of the class.
    """
    centres = _centres(gpus)
    found: dict[Family, dict[int, Levels]] = {}
    for index, gpu in enumerate(gpus):
        own: dict[Family, list[tuple[datetime, float]]] = {}
        for number, (costs, (begun, _)) in enumerate(zip(gpu.costs, gpu.times, strict=True)):
            ending = AT_ONCE if number in gpu.at_once else ""
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
                named = replace(family, name=family.name + ending)
                own.setdefault(named, []).append((begun, median(differences)))
        for family, levels in own.items():
            found.setdefault(family, {})[index] = tuple(levels)
            loss = _loss(family, own)
            if loss is not None:
                found.setdefault(loss[0], {})[index] = loss[1]
    return found


def _loss(
    family: Family, own: Mapping[Family, Sequence[tuple[datetime, float]]]
) -> tuple[Family, Levels] | None:
    """Give what a GPU loses in a family when all GPUs of its node copy at once."""
    at_once = own.get(replace(family, name=family.name + AT_ONCE))
    if not at_once:
        return None
    alone = median(level for _, level in own[family])
    named = replace(family, name=family.name + AGAINST_ALONE)
    return named, tuple((begun, level - alone) for begun, level in at_once)


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


@dataclass(frozen=True, kw_only=True)
class _Spread:
    """How much equal GPUs differ in a family: standard deviation, and its degrees of freedom."""

    family: Family
    known: float
    """The variance that is stated for this family."""
    centre: float
    repeats: float
    deviation: float
    freedom: float

    def standings(self, levels: Mapping[int, Levels], tolerance: float) -> dict[int, Standing]:
        return {index: self._standing(own, log1p(tolerance)) for index, own in levels.items()}

    def _standing(self, own: Levels, tolerated: float) -> Standing:
        error = self.deviation * sqrt(max(1.0, self.repeats / len(own)))
        shift = median(level for _, level in own) - self.centre
        beyond = upper_tail((shift - tolerated) / error, self.freedom)
        together = self.family == TOGETHER
        most = STATED[self.family.drift or self.family.clock].most
        return Standing(
            family=self.family,
            shift=shift,
            error=error,
            num_repeats=len(own),
            num_slow=sum(level - self.centre > max(tolerated, shift / 2) for _, level in own),
            tail=upper_tail(shift / error, self.freedom) if together else beyond,
            usual=self.centre,
            tolerated=beyond,
            is_beyond=len(own) >= _FEWEST_BEYOND
            and not together
            and min(level for _, level in own) - self.centre > max(tolerated, _FAR_BEYOND * most),
        )


def _spread(
    family: Family, levels: Mapping[int, Levels], known: float | None = None
) -> _Spread | None:
    """Measure how much a class differs in a family; None if too few of it have it."""
    if len(levels) < FEWEST:
        return None
    middles = [median(level for _, level in own) for own in levels.values()]
    repeats = median(map(len, levels.values()))
    if known is None:
        stated = STATED["staged" if family.staged else family.clock]
        # As between runs in `compare`: what repeats of one run can't show is added.
        known = stated.processes**2 / repeats + stated.runs**2
    centre = median(middles)
    measured = _FROM_MAD * median(abs(middle - centre) for middle in middles)
    freedom = _EFFICIENCY * (len(levels) - 1)
    squared = (_STATED_FREEDOM * known + freedom * measured**2) / (_STATED_FREEDOM + freedom)
    return _Spread(
        family=family,
        known=known,
        centre=centre,
        repeats=repeats,
        deviation=sqrt(squared),
        freedom=min(_STATED_FREEDOM + freedom, _MOST_FREEDOM),
    )


def _slower_group(
    family: Family, levels: Mapping[int, Levels], tolerance: float
) -> tuple[set[int], float]:
    """Give the slower GPUs of a class that is divided in two, and by how much: none if it isn't."""
    middles = {index: median(level for _, level in own) for index, own in levels.items()}
    ordered = sorted(middles, key=lambda index: middles[index])
    values = [middles[index] for index in ordered]
    least = max(_FEWEST_OF_GROUP, int(_LEAST_OF_GROUP * len(values)))
    least_gap = max(log1p(tolerance), STATED[family.drift or family.clock].usual)
    for at in range(least, len(values) - least + 1):
        widest = max(values[at - 1] - values[0], values[-1] - values[at])
        if values[at] - values[at - 1] > max(least_gap, widest):
            return set(ordered[at:]), median(values[at:]) - median(values[:at])
    return set(), 0.0


def _together(
    spreads: Sequence[_Spread], families: Mapping[Family, Mapping[int, Levels]], tolerance: float
) -> dict[int, Standing]:
    """
    Judge all families together, but those of all GPUs at once, by the median of a process's levels,
    weighted by how well each family is known.
    """
    alone = [spread for spread in spreads if AT_ONCE not in spread.family.name]
    if len(alone) < _FEWEST_TOGETHER:
        return {}
    points: dict[int, dict[tuple[datetime, int], list[tuple[float, float]]]] = {}
    for spread in alone:
        for index, own in families[spread.family].items():
            number = Counter[datetime]()
            for begun, level in own:
                point = (level - spread.centre, spread.deviation**-2)
                points.setdefault(index, {}).setdefault((begun, number[begun]), []).append(point)
                number[begun] += 1
    levels = {
        index: tuple((begun, _weighted_median(own)) for (begun, _), own in sorted(found.items()))
        for index, found in points.items()
    }
    known = 1 / sum(1 / spread.known for spread in alone) + STATED[TOGETHER.clock].runs ** 2
    all_together = _spread(TOGETHER, levels, known)
    return all_together.standings(levels, tolerance) if all_together else {}


def _weighted_median(points: Sequence[tuple[float, float]]) -> float:
    half = sum(weight for _, weight in points) / 2
    ordered = sorted(points)
    passed = accumulate(weight for _, weight in ordered)
    return next(value for (value, _), so_far in zip(ordered, passed, strict=True) if so_far >= half)
