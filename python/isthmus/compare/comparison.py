"""Whether a later run is slower than an earlier one: results are paired, families are judged."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from isthmus.compare.families import Family, family_of
from isthmus.compare.judging import Judgement, Verdict, judge_families
from isthmus.compare.levels import Levels, levels_of
from isthmus.compare.subject import Subject, subject_of
from isthmus.errors import UsageError
from isthmus.run.model import Run
from isthmus.run.result import Result, Status

DEFAULT_TOLERANCE = 0.05
_RANKED_UNITS = frozenset({"B/s", "s"})


@dataclass(frozen=True, kw_only=True)
class Change:
    """
    One result, before and after.

    Attributes:
        subject: What both measure.
        before: The result of the earlier run.
        after: The result of the later run.
        family: The family in which it is judged; None if it isn't.
        verdict: Its family's verdict, or LOST; None if it isn't judged.
    """

    subject: Subject
    before: Result
    after: Result
    family: Family | None
    verdict: Verdict | None

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
    Two runs, compared.

    Attributes:
        judgements: The verdict of each family that both runs have.
        changes: Every result that both runs have and that can be better or worse.
        num_only_before: Results that the later run doesn't have.
        num_only_after: Results that the earlier run doesn't have.
    """

    judgements: tuple[Judgement, ...]
    changes: tuple[Change, ...]
    num_only_before: int
    num_only_after: int

    @property
    def regressed(self) -> bool:
        """Whether a family is slower, or a result was lost."""
        return bool(self.count(Verdict.SLOWER) or self.num_lost)

    @property
    def num_lost(self) -> int:
        """The number of results that were lost."""
        return sum(change.verdict == Verdict.LOST for change in self.changes)

    @property
    def num_not_judged(self) -> int:
        """The number of results that belong to no family."""
        return sum(change.verdict is None for change in self.changes)

    def count(self, verdict: Verdict) -> int:
        """Count the families of a verdict."""
        return sum(judgement.verdict == verdict for judgement in self.judgements)


def compare(before: Run, after: Run, tolerance: float = DEFAULT_TOLERANCE) -> Comparison:
    """
    Compare two runs of the same kind.

    Args:
        before: The earlier run, with which the other is compared.
        after: The later run.
        tolerance: A fraction of the earlier cost; a change up to it is the same.

    Raises:
        UsageError: One is emulated and the other isn't.
    """
    check_comparable(before, after)
    old = {subject_of(result): result for result in before.results if _ranked(result)}
    new = {subject_of(result): result for result in after.results if _ranked(result)}
    measured = {subject for subject, result in old.items() if result.status == Status.PASSED}
    pairs = {subject: (old[subject], new[subject]) for subject in new if subject in measured}
    emulated = after.machine.emulated
    judgements = judge_families(_levels(pairs.values(), emulated=emulated), tolerance)
    verdicts = {judgement.family: judgement.verdict for judgement in judgements}
    return Comparison(
        judgements=tuple(judgements),
        changes=tuple(
            _change(subject, pair, family_of(pair[1], emulated=emulated), verdicts)
            for subject, pair in pairs.items()
        ),
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


def _levels(pairs: Iterable[tuple[Result, Result]], *, emulated: bool) -> dict[Family, Levels]:
    families: dict[Family, list[tuple[Result, Result]]] = {}
    for before, after in pairs:
        family = family_of(after, emulated=emulated)
        if after.status == Status.PASSED and family is not None:
            families.setdefault(family, []).append((before, after))
    found = {family: levels_of(own) for family, own in families.items()}
    return {family: levels for family, levels in found.items() if levels is not None}


def _change(
    subject: Subject,
    pair: tuple[Result, Result],
    family: Family | None,
    verdicts: Mapping[Family, Verdict],
) -> Change:
    before, after = pair
    lost = after.status != Status.PASSED
    return Change(
        subject=subject,
        before=before,
        after=after,
        family=family,
        verdict=Verdict.LOST if lost else verdicts.get(family) if family else None,
    )


def _ranked(result: Result) -> bool:
    """
    Whether a result can be better or worse: it was sampled, or should have been, as a time or rate.

    A result that is derived from others (a crossover, a fit) changes with them. One for which the
    run had no time left was not asked for in time: that is no loss.
    """
    sampled = result.status != Status.PASSED or result.stopped_by is not None
    return sampled and result.unit in _RANKED_UNITS and not result.ran_out_of_time
