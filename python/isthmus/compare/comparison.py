"""Whether results of a later run are faster, the same or slower than an earlier one's."""

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from isthmus.compare.subject import Subject, subject_of
from isthmus.errors import UsageError
from isthmus.run.model import Run
from isthmus.run.result import Result, Status

DEFAULT_TOLERANCE = 0.05
_HIGHER_IS_BETTER = {"B/s": True, "s": False}


class Verdict(StrEnum):
    """How a result changed."""

    FASTER = "faster"
    SAME = "same"
    SLOWER = "slower"
    LOST = "lost"
    """It was measured before, and is waived or an error now."""


# The verdicts that fail a regression check.
REGRESSIONS = frozenset({Verdict.SLOWER, Verdict.LOST})


@dataclass(frozen=True, kw_only=True)
class Change:
    """
    One result, before and after.

    Attributes:
        subject: What both measure.
        before: The result of the earlier run.
        after: The result of the later run.
        verdict: How they compare.
    """

    subject: Subject
    before: Result
    after: Result
    verdict: Verdict

    @property
    def relative(self) -> float | None:
        """The median's change relative to the earlier one; None if there is none."""
        if not self.before.median or self.after.median is None:
            return None
        part = self.after.median / self.before.median - 1
        return part if isfinite(part) else None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """
    Two runs, result by result.

    Attributes:
        changes: Every result that both runs have and that can be better or worse.
        num_only_before: Results that the later run doesn't have.
        num_only_after: Results that the earlier run doesn't have.
    """

    changes: tuple[Change, ...]
    num_only_before: int
    num_only_after: int

    @property
    def regressed(self) -> bool:
        """Whether anything is slower or lost."""
        return any(change.verdict in REGRESSIONS for change in self.changes)

    def count(self, verdict: Verdict) -> int:
        """Count the results of a verdict."""
        return sum(change.verdict == verdict for change in self.changes)


def compare(before: Run, after: Run, tolerance: float = DEFAULT_TOLERANCE) -> Comparison:
    """
    Compare two runs of the same kind.

    A result is faster or slower if its interval (the median plus and minus the interquartile range)
    doesn't overlap with the other's, and the medians differ by more than the tolerance.

    Args:
        before: The earlier run, with which the other is compared.
        after: The later run.
        tolerance: A fraction of the earlier median; a difference up to it is the same.

    Raises:
        UsageError: One is emulated and the other isn't.
    """
    check_comparable(before, after)
    old = {subject_of(result): result for result in before.results if _ranked(result)}
    new = {subject_of(result): result for result in after.results if _ranked(result)}
    changes = tuple(
        Change(
            subject=subject,
            before=old[subject],
            after=result,
            verdict=_verdict(old[subject], result, tolerance),
        )
        for subject, result in new.items()
        if subject in old and old[subject].status == Status.PASSED
    )
    measured = {subject for subject, result in old.items() if result.status == Status.PASSED}
    return Comparison(
        changes=changes,
        num_only_before=len(measured - new.keys()),
        num_only_after=len(new.keys() - old.keys()),
    )


def check_comparable(before: Run, after: Run) -> None:
    """
    Refuse to compare modelled numbers with measured ones.

    Raises:
        UsageError: One run is emulated and the other isn't.
    """
    check_kind(before, emulated=after.machine.emulated)


def check_kind(run: Run, *, emulated: bool) -> None:
    """
    Refuse a modelled run if the other is measured, and the other way round.

    Raises:
        UsageError: One is modelled and the other isn't.
    """
    if run.machine.emulated == emulated:
        return
    kinds = {True: "emulated", False: "of a real device"}
    raise UsageError(
        f"run {run.run.id} is {kinds[not emulated]}, and the other is {kinds[emulated]}: modelled "
        "numbers are never compared with measured ones",
        hint="compare runs of the same kind",
    )


def _ranked(result: Result) -> bool:
    """
    Whether a result can be better or worse: it was sampled, or should have been, as a time or rate.

    A result that is derived from others (a crossover, a fit) changes with them.
    """
    sampled = result.status != Status.PASSED or result.stopped_by is not None
    return sampled and result.unit in _HIGHER_IS_BETTER


def _verdict(before: Result, after: Result, tolerance: float) -> Verdict:
    if after.status != Status.PASSED or after.median is None or before.median is None:
        return Verdict.LOST
    change = after.median - before.median
    if abs(change) <= tolerance * abs(before.median) or _overlap(before, after):
        return Verdict.SAME
    better = (change > 0) == _HIGHER_IS_BETTER[after.unit]
    return Verdict.FASTER if better else Verdict.SLOWER


def _overlap(one: Result, other: Result) -> bool:
    (first_low, first_high), (second_low, second_high) = _interval(one), _interval(other)
    return first_low <= second_high and second_low <= first_high


def _interval(result: Result) -> tuple[float, float]:
    median, iqr = result.median or 0.0, abs(result.iqr or 0.0)
    return median - iqr, median + iqr
