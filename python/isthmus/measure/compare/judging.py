"""
Judges families of results: is the later run slower by more than the tolerance, or only by chance?

The method and what it was measured with: docs/adr/0013-judging-families.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import atan2, cos, exp, inf, log, log1p, pi, sin, sqrt
from statistics import NormalDist
from typing import TypeVar

from isthmus.measure.compare.families import Family
from isthmus.measure.compare.levels import Levels

# From here on, the normal distribution's tails differ by less than matters to a verdict.
_NORMAL_FROM = 400
_STEPS = 200


def upper_tail(t: float, freedom: float) -> float:
    """
    Give the probability that a value of Student's distribution is larger than `t` (Abramowitz and
    Stegun, 26.7.3 and 26.7.4). A part of a degree of freedom is cut off, which makes it larger.
    """
    if t < 0:
        return 1 - upper_tail(-t, freedom)
    if freedom >= _NORMAL_FROM:
        return NormalDist().cdf(-t)
    n = max(1, int(freedom))
    angle = atan2(t, sqrt(n))
    return max(0.0, (1 - _two_sided(angle, n)) / 2)


def quantile(tail: float, freedom: float) -> float:
    """Give the value above which `tail`, at most one half, of the distribution lies."""
    low, high = 0.0, 1.0
    while upper_tail(high, freedom) > tail:
        low, high = high, 2 * high
        if high == inf:
            return inf
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_tail(middle, freedom) > tail else (low, middle)
    return high


def _two_sided(angle: float, n: int) -> float:
    """Give the probability between -t and t, where `angle` is atan(t / sqrt(n))."""
    squared = cos(angle) ** 2
    if n % 2 == 0:
        return sin(angle) * _series(squared, range(1, n - 2, 2))
    if n == 1:
        return 2 * angle / pi
    return 2 / pi * (angle + sin(angle) * cos(angle) * _series(squared, range(2, n - 2, 2)))


def _series(squared: float, factors: range) -> float:
    """Add 1 + f/(f+1) c + f(f+2)/((f+1)(f+3)) c^2 + ..., for the factors f, f+2, ..."""
    total = term = 1.0
    for factor in factors:
        term *= squared * factor / (factor + 1)
        total += term
    return total


TestedT = TypeVar("TestedT")

FALSE_ALARMS = 0.01
"""At most this part of comparisons of unchanged programs calls any family slower."""
POWER = 0.99
"""A change of the size that is said to be found is found at least so often."""
DOUBT = 0.05
"""With repeats, at most this part of comparisons of unchanged programs can't tell."""


class Verdict(StrEnum):
    """How a family or a whole run changed, or what became of a result."""

    FASTER = "faster"
    SAME = "same"
    """Not shown to have changed by more than the tolerance."""
    CANT_TELL = "can't tell"
    """Changed by more than unchanged runs usually do, and less than they may."""
    SLOWER = "slower"
    LOST = "lost"
    """It was measured before and isn't now, though it was asked for."""
    OUT_OF_TIME = "out of time"
    """It was measured before, and now the time was used up or the run was interrupted."""
    NOT_ASKED = "not asked for"
    """It was measured before, and the later run was asked for less, or has other hardware."""


@dataclass(frozen=True)
class Drift:
    """
    How much unchanged results differ, as logarithms.

    Attributes:
        processes: The standard deviation between processes of one run, where none was measured.
        runs: That between runs, in addition: what repeats of one run can't show.
        usual: How far a family's median seldom gets from one single run to another.
        most: How far it has ever got; what is further is no drift.
        part: How far the median of one test of a family seldom gets.
        one: Further than a single result has ever got.
    """

    processes: float
    runs: float
    usual: float
    most: float
    part: float
    one: float


# Measured: benchmarks/frontdoor/compare.md. By the clock of a family, or by its own kind.
STATED = {
    "pinned": Drift(processes=0.02, runs=0.005, usual=0.06, most=0.1, part=0.15, one=0.4),
    "device": Drift(processes=0.02, runs=0.005, usual=0.08, most=0.13, part=0.45, one=0.7),
    "host": Drift(processes=0.35, runs=0.05, usual=0.35, most=0.4, part=0.65, one=log(8)),
    "staged": Drift(processes=0.35, runs=0.15, usual=0.25, most=0.5, part=0.5, one=0.8),
    "wild": Drift(processes=0.35, runs=0.15, usual=0.35, most=0.5, part=0.9, one=1.4),
    "emulated": Drift(processes=0.35, runs=0.15, usual=0.8, most=1.6, part=inf, one=inf),
}
# From so many times what one test's median seldom exceeds on, it is no drift.
_SURELY = 1.5
# Processes that differ by at most this part of the most ever seen are quiet: what is true of
# a single run is true of their mean.
_QUIET = 0.25


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """
    A family's verdict.

    Attributes:
        shift: How much slower the later run is, as the logarithm of the ratio of costs.
        reach: How far from `shift` the true one may be.
        finds: The smallest logarithm of a loss that is called slower with `POWER`; without repeats,
            that isn't called the same.
        drift: The standard deviation between processes; without repeats, the most ever seen.
    """

    family: Family
    num_results: int
    shift: float
    reach: float
    finds: float
    drift: float
    measured: bool
    verdict: Verdict

    @property
    def change(self) -> float:
        """The change of the family's median result in its unit: -0.1 is 10 % less."""
        return in_unit(self.shift, self.family.unit)

    @property
    def interval(self) -> tuple[float, float]:
        """The change that the runs allow: lowest and highest, by the tail that was required."""
        ends = (self.shift - self.reach, self.shift + self.reach)
        low, high = sorted(in_unit(end, self.family.unit) for end in ends)
        return low, high

    @property
    def repeats_tell(self) -> bool:
        """Whether repeats can tell: not if runs differ by as much, whatever their processes do."""
        return self.shift > 5 * STATED[self.family.drift or self.family.clock].runs

    @property
    def found_from(self) -> float:
        """`finds` as a fraction of the unit."""
        return abs(in_unit(self.finds, self.family.unit))


def in_unit(shift: float, unit: str) -> float:
    """Give a change in its unit, as a fraction: slower is less B/s, or more s."""
    exponent = -shift if unit == "B/s" else shift
    return exp(exponent) - 1 if exponent < _MOST else inf


# exp() of more overflows.
_MOST = 700.0


def judge_families(levels: Mapping[Family, Levels], tolerance: float) -> list[Judgement]:
    """
    Judge all families of a comparison together: one is slower if its cost grew by more than the
    tolerance, a fraction, and by more than drift explains. With repeats, Holm's procedure keeps the
    rate of false alarms of all families together at `FALSE_ALARMS`, and separately that of families
    that are called faster; and at `DOUBT` those that may be slower. Without repeats, drift is what
    unchanged runs have shown.
    """
    tests = {family: _Test(family, found, log1p(tolerance)) for family, found in levels.items()}
    repeated = {family: test for family, test in tests.items() if test.measured}
    slower = {family: test.tail(1) for family, test in repeated.items()}
    verdicts = (
        {family: test.verdict_of_single_runs() for family, test in tests.items()}
        | dict.fromkeys(holm({f: test.tail(-1) for f, test in repeated.items()}), Verdict.FASTER)
        | dict.fromkeys(holm(slower, DOUBT), Verdict.CANT_TELL)
        | dict.fromkeys(holm(slower), Verdict.SLOWER)
    )
    return [test.judgement(len(levels), verdicts[family]) for family, test in tests.items()]


def judge_part(family: Family, levels: Levels, tolerance: float) -> Verdict | None:
    """Judge one test of a family, or one result, on its own; None if nothing is shown."""
    stated, several = STATED[family.drift or family.clock], levels.num_results > 1
    shift = levels.shift if levels.shift > log1p(tolerance) else 0.0
    if shift > (min(_SURELY * stated.part, stated.one) if several else stated.one):
        return Verdict.SLOWER
    return Verdict.CANT_TELL if several and shift > stated.part else None


class _Test:
    """One family's test: its shift, and how far it may be off."""

    def __init__(self, family: Family, levels: Levels, least: float) -> None:
        self._family, self._levels, self._least = family, levels, least
        self._stated = stated = STATED[family.drift or family.clock]
        self.measured = levels.drift is not None
        if levels.drift is None:
            return
        by_process = levels.drift**2 * (1 / len(levels.before) + 1 / len(levels.after))
        squared = by_process + 2 * stated.runs**2
        self._error, self._freedom = sqrt(squared), inf
        # Source: Welch and Satterthwaite. Only the processes' part is estimated from few numbers.
        if by_process > 0:
            self._freedom = levels.freedom * (squared / by_process) ** 2

    def tail(self, way: int) -> float:
        """Give the probability of so much more (or, for -1, less) time if nothing had changed."""
        shift = way * self._levels.shift
        return upper_tail(shift / self._error, self._freedom) if shift > self._least else 1.0

    def verdict_of_single_runs(self) -> Verdict:
        """Judge by what unchanged runs have shown; repeats that differ widely only cast doubt."""
        shift, stated = self._levels.shift, self._stated
        if abs(shift) <= max(self._least, stated.usual):
            return Verdict.SAME
        if abs(shift) > stated.most and (self._levels.drift or 0.0) <= _QUIET * stated.most:
            return Verdict.SLOWER if shift > 0 else Verdict.FASTER
        return Verdict.CANT_TELL if shift > 0 else Verdict.SAME

    def judgement(self, num_families: int, verdict: Verdict) -> Judgement:
        if self.measured:
            more = quantile(1 - POWER, self._freedom) * self._error
            reach = quantile(FALSE_ALARMS / num_families, self._freedom) * self._error
            finds = more + max(reach, self._least)
        else:
            reach = self._stated.most
            finds = reach + max(self._stated.usual, self._least)
        return Judgement(
            family=self._family,
            num_results=self._levels.num_results,
            shift=self._levels.shift,
            reach=reach,
            finds=finds,
            drift=self._stated.most if self._levels.drift is None else self._levels.drift,
            measured=self._levels.drift is not None,
            verdict=verdict,
        )


def holm(tails: Mapping[TestedT, float], rate: float = FALSE_ALARMS) -> set[TestedT]:
    """
    Give those that differ, with at most `rate` false ones for all of them together (Holm, 1979); a
    tail is the probability of what was seen if it didn't differ.
    """
    found: set[TestedT] = set()
    ordered: Sequence[TestedT] = sorted(tails, key=lambda one: tails[one])
    for rank, one in enumerate(ordered):
        if tails[one] > rate / (len(ordered) - rank):
            break
        found.add(one)
    return found
