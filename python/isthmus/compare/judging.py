"""
Judges families of results: is the later run slower by more than the tolerance, or only by chance?

The method and what it was measured with: docs/adr/0013-judging-families.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, log1p, sqrt
from typing import TypeVar

from isthmus.compare.families import Family
from isthmus.compare.levels import Levels
from isthmus.compare.student import quantile, upper_tail

TestedT = TypeVar("TestedT")

FALSE_ALARMS = 0.01
"""At most this part of comparisons of unchanged programs calls any family slower."""
POWER = 0.99
"""A change of the size that is said to be found is found at least so often."""


class Verdict(StrEnum):
    """How a family changed, or that a result was lost."""

    FASTER = "faster"
    SAME = "same"
    """Not shown to have changed by more than the tolerance."""
    SLOWER = "slower"
    LOST = "lost"
    """It was measured before, and is waived or an error now."""


@dataclass(frozen=True)
class Drift:
    """
    How much unchanged results differ, as standard deviations of logarithms.

    Attributes:
        processes: Between processes of one run, where no repeats have measured it.
        runs: Between runs, in addition: what repeats of one run can't show.
    """

    processes: float
    runs: float


# Measured: benchmarks/frontdoor/compare.md. By the clock of a family, and for staged copies.
STATED = {
    "device": Drift(processes=0.02, runs=0.005),
    "host": Drift(processes=0.35, runs=0.05),
    "staged": Drift(processes=0.35, runs=0.15),
}


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """
    A family's verdict.

    Attributes:
        family: The family.
        num_results: The number of results behind it.
        shift: How much slower the later run is, as the logarithm of the ratio of costs.
        error: The standard error of `shift`.
        freedom: Degrees of freedom of `error`; infinite if the drift was stated, not measured.
        drift: The standard deviation between processes.
        measured: Whether repeats have measured it.
        tail: The share of the error's distribution that was required to lie on one side.
        tolerance: What counts as the same, as a fraction.
        verdict: Faster, same or slower.
    """

    family: Family
    num_results: int
    shift: float
    error: float
    freedom: float
    drift: float
    measured: bool
    tail: float
    tolerance: float
    verdict: Verdict

    @property
    def change(self) -> float:
        """The change of the family's median result in its unit: -0.1 is 10 % less."""
        return in_unit(self.shift, self.family.unit)

    @property
    def interval(self) -> tuple[float, float]:
        """The change that the runs allow: lowest and highest, by the tail that was required."""
        reach = self.error * quantile(self.tail, self.freedom)
        low, high = sorted(in_unit(self.shift + way * reach, self.family.unit) for way in (-1, 1))
        return low, high

    @property
    def found_from(self) -> float:
        """The smallest loss (as a fraction of the unit) that these repeats find with `POWER`."""
        reach = quantile(self.tail, self.freedom) + quantile(1 - POWER, self.freedom)
        return abs(in_unit(log1p(self.tolerance) + self.error * reach, self.family.unit))


def in_unit(shift: float, unit: str) -> float:
    """Give a change in its unit, as a fraction: slower is less B/s, or more s."""
    exponent = -shift if unit == "B/s" else shift
    return exp(exponent) - 1 if exponent < _MOST else inf


# exp() of more overflows.
_MOST = 700.0


def judge_families(levels: Mapping[Family, Levels], tolerance: float) -> list[Judgement]:
    """
    Judge all families of a comparison together.

    A family is slower if it is certain enough that it is slower by more than the tolerance. Holm's
    procedure keeps the rate of false alarms of all families together at `FALSE_ALARMS`, and
    separately that of families that are called faster.

    Args:
        levels: Each family's levels.
        tolerance: A fraction.
    """
    tests = {family: _Test(family, found, tolerance) for family, found in levels.items()}
    slower = holm({family: test.slower for family, test in tests.items()})
    faster = holm({family: test.faster for family, test in tests.items()})
    verdicts = (
        dict.fromkeys(levels, Verdict.SAME)
        | dict.fromkeys(faster, Verdict.FASTER)
        | dict.fromkeys(slower, Verdict.SLOWER)
    )
    tail = FALSE_ALARMS / max(1, len(levels))
    return [test.judgement(tail, verdicts[family]) for family, test in tests.items()]


class _Test:
    """One family's test: its shift, and how far it may be off."""

    def __init__(self, family: Family, levels: Levels, tolerance: float) -> None:
        stated = STATED["staged" if family.staged else family.clock]
        self._family, self._levels, self._tolerance = family, levels, tolerance
        measured = levels.drift
        self._drift = stated.processes if measured is None else measured
        by_process = self._drift**2 * (1 / len(levels.before) + 1 / len(levels.after))
        squared = by_process + 2 * stated.runs**2
        self._error = sqrt(squared)
        # Source: Welch and Satterthwaite. Only the processes' part is estimated from few numbers.
        self._freedom = inf
        if measured is not None and by_process > 0:
            self._freedom = levels.freedom * (squared / by_process) ** 2

    @property
    def slower(self) -> float:
        """The probability of so much more time if the cost had grown by just the tolerance."""
        return self._tail(self._levels.shift)

    @property
    def faster(self) -> float:
        """The same for less time."""
        return self._tail(-self._levels.shift)

    def _tail(self, shift: float) -> float:
        return upper_tail((shift - log1p(self._tolerance)) / self._error, self._freedom)

    def judgement(self, tail: float, verdict: Verdict) -> Judgement:
        return Judgement(
            family=self._family,
            num_results=self._levels.num_results,
            shift=self._levels.shift,
            error=self._error,
            freedom=self._freedom,
            drift=self._drift,
            measured=self._levels.freedom > 0,
            tail=tail,
            tolerance=self._tolerance,
            verdict=verdict,
        )


def holm(tails: Mapping[TestedT, float]) -> set[TestedT]:
    """
    Give those that differ, with at most `FALSE_ALARMS` for all of them together.

    Source: Holm, 1979.

    Args:
        tails: For each, the probability of what was seen if it didn't differ.
    """
    found: set[TestedT] = set()
    ordered: Sequence[TestedT] = sorted(tails, key=lambda one: tails[one])
    for rank, one in enumerate(ordered):
        if tails[one] > FALSE_ALARMS / (len(ordered) - rank):
            break
        found.add(one)
    return found
