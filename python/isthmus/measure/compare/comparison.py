"""Whether a later run is slower than an earlier one: results are paired, families are judged."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from isthmus.errors import UsageError
from isthmus.measure.compare.families import Family, Subject, any_family_of, is_sampled, subject_of
from isthmus.measure.compare.judging import Judgement, Verdict, judge_families, judge_part
from isthmus.measure.compare.levels import costs_of, levels_of
from isthmus.measure.compare.machines import identity_of
from isthmus.measure.run.model import Run
from isthmus.measure.run.result import Result, Status

DEFAULT_TOLERANCE = 0.05
"""Of fleets and histories."""
TOLERANCE = 0.03
"""Of comparisons: a family that lost a twentieth is outside."""
# A budget that was just used up costs some results, and proves nothing.
_FEW = 2
# The names of bench's options that choose tests.
_CHOOSING = ("-t", "-p", "--test", "--testcase", "--prefix")
Pair = tuple[Result, Result]


@dataclass(frozen=True, kw_only=True)
class Change:
    """
    One result, before and after.

    Attributes:
        after: The result of the later run; None if it has none.
        family: The family in which it is judged; None if it isn't.
        verdict: Its family's verdict, or what became of it; None if it isn't judged.
    """

    subject: Subject
    before: Result
    after: Result | None
    family: Family | None
    verdict: Verdict | None

    @property
    def relative(self) -> float | None:
        """The median's change relative to the earlier one; None if there is none."""
        if not self.before.median or self.after is None or self.after.median is None:
            return None
        part = self.after.median / self.before.median - 1
        return part if isfinite(part) else None

    @property
    def trouble(self) -> str:
        """The later result's error, or a median that no clock gives; empty if there is none."""
        if self.verdict is None:
            return ""
        if self.after is not None and self.after.error is not None:
            return f"{self.subject.test}: {self.after.error.message}"
        odd = next((r for r in (self.after, self.before) if r and is_impossible(r)), None)
        return f"{self.subject.test}: impossible median: {odd.median:g} {odd.unit}" if odd else ""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """
    Two runs, compared.

    Attributes:
        changes: Every result that the earlier run has measured as a time or rate.
        unfinished: Families of which most results are out of time now.
        num_derived: Results of the earlier run that are no times or rates, or derived from others.
    """

    judgements: tuple[Judgement, ...]
    changes: tuple[Change, ...]
    unfinished: tuple[Family, ...]
    num_derived: int
    num_only_after: int

    @property
    def verdict(self) -> Verdict:
        """Of the whole: slower, lost, can't tell or same."""
        for worst in (Verdict.SLOWER, Verdict.LOST):
            if self.count(worst) or self.count_results(worst):
                return worst
        doubt = self.count_results(Verdict.CANT_TELL) or self.unfinished or not self.judgements
        return Verdict.CANT_TELL if doubt else Verdict.SAME

    @property
    def repeated(self) -> bool:
        """Whether repeats have measured the drift of every family."""
        return all(judgement.measured for judgement in self.judgements)

    @property
    def num_not_judged(self) -> int:
        """The number of results that were measured before and are in no judgement."""
        return self.num_derived + self.count_results(None)

    def count(self, verdict: Verdict) -> int:
        """Count the families of a verdict."""
        return sum(judgement.verdict == verdict for judgement in self.judgements)

    def count_results(self, verdict: Verdict | None) -> int:
        """Count the results of a verdict."""
        return sum(change.verdict == verdict for change in self.changes)

    def apart(self, verdict: Verdict) -> list[Change]:
        """Give the results of a verdict whose family has another: a test's, or single ones."""
        families = {one.family for one in self.judgements if one.verdict == verdict}
        return [c for c in self.changes if c.verdict == verdict and c.family not in families]


def compare(before: Run, after: Run, tolerance: float = TOLERANCE) -> Comparison:
    """
    Compare two runs of the same kind; a change up to `tolerance`, a fraction of the earlier cost,
    is the same.
    """
    check_kind(before, emulated=after.machine.emulated)
    emulated = after.machine.emulated
    passed = [result for result in before.results if result.status == Status.PASSED]
    old, new = _by_subject(before, passed), _by_subject(after, after.results)
    families = {
        subject: None if is_impossible(result) else any_family_of(result, emulated=emulated)
        for subject, result in old.items()
    }
    grouped: dict[Family, list[Pair]] = {}
    for subject, family in families.items():
        now = new.get(subject)
        if family is not None and now is not None and now.status == Status.PASSED:
            grouped.setdefault(family, []).append((old[subject], now))
    levels = {family: levels_of(pairs) for family, pairs in grouped.items()}
    known = {family: found for family, found in levels.items() if found is not None}
    judgements = judge_families(known, tolerance)
    verdicts: dict[object, Verdict] = {one.family: one.verdict for one in judgements}
    parts = {} if emulated else _parts(grouped, tolerance)
    fates = _Fates(before, after)
    changes = tuple(
        Change(
            subject=subject,
            before=old[subject],
            after=new.get(subject),
            family=family,
            verdict=fates.of(old[subject], new.get(subject))
            or _worst(verdicts.get(family), parts.get(subject)),
        )
        for subject, family in families.items()
    )
    late = Counter(one.family for one in changes if one.verdict == Verdict.OUT_OF_TIME)
    return Comparison(
        judgements=tuple(judgements),
        changes=changes,
        unfinished=tuple(
            family
            for family, num in late.items()
            if family and num > max(_FEW, len(grouped.get(family, ())))
        ),
        num_derived=len(passed) - len(old),
        num_only_after=sum(
            result.status == Status.PASSED and subject not in old for subject, result in new.items()
        ),
    )


class _Fates:
    """What became of results that were measured before and aren't now."""

    def __init__(self, before: Run, after: Run) -> None:
        suites = {result.suite for result in before.results}
        command = after.run.command
        self._chosen = any(word in suites or word.startswith(_CHOOSING) for word in command)
        self._asked, self._interrupted = set(after.options.tests), after.run.interrupted
        self._measured = {result.test for result in after.results}
        self._other_machine = identity_of(before.machine) != identity_of(after.machine)
        fields = ("sizes", "quick", "managed", "max_bytes")
        self._other_request = any(
            getattr(before.options, name) != getattr(after.options, name) for name in fields
        )

    def of(self, before: Result, after: Result | None) -> Verdict | None:
        """Tell what became of a result; None if it was measured again."""
        if after is not None and after.status == Status.PASSED:
            return Verdict.LOST if is_impossible(before) != is_impossible(after) else None
        if after is not None:
            return Verdict.OUT_OF_TIME if after.ran_out_of_time else Verdict.LOST
        if self._interrupted:
            return Verdict.OUT_OF_TIME
        fewer = before.test not in self._asked and self._chosen
        if fewer or self._other_request or (self._other_machine and before.test in self._measured):
            return Verdict.NOT_ASKED
        return Verdict.LOST


def is_impossible(result: Result) -> bool:
    """Whether a result that passed has no number that a clock can give: 0, less, or infinite."""
    return result.status == Status.PASSED and costs_of(result) is None


def _by_subject(run: Run, results: Iterable[Result]) -> dict[Subject, Result]:
    found: dict[Subject, Result] = {}
    for result in filter(is_sampled, results):
        subject = subject_of(result)
        if found.setdefault(subject, result) is not result:
            raise UsageError(
                f"run {run.run.id} has two results of {subject.test}, {subject.metric}, "
                f"{subject.size_bytes} bytes: nobody can tell which is right",
                hint="measure again; isthmus bench writes each result once",
            )
    return found


def _parts(grouped: Mapping[Family, Sequence[Pair]], tolerance: float) -> dict[Subject, Verdict]:
    """Judge, within each family, each GPU, each test by GPU and memory, and each single result."""
    found: dict[Subject, Verdict] = {}
    for family, pairs in grouped.items():
        parts: dict[object, list[Pair]] = {}
        for pair in pairs:
            gpu, memory = pair[0].axes.get("gpu"), pair[0].axes.get("memory")
            for place in (gpu, (pair[0].test, gpu, memory)):
                parts.setdefault(place, []).append(pair)
        for part in [*parts.values(), *([pair] for pair in pairs)]:
            levels = levels_of(part)
            verdict = None if levels is None else judge_part(family, levels, tolerance)
            for subject in (subject_of(before) for before, _ in part if verdict):
                if verdict and found.get(subject) != Verdict.SLOWER:
                    found[subject] = verdict
    return found


def _worst(*verdicts: Verdict | None) -> Verdict | None:
    """Give the worst; the first if none is bad."""
    bad = (worst for worst in (Verdict.SLOWER, Verdict.CANT_TELL) if worst in verdicts)
    return next(bad, verdicts[0])


def check_kind(run: Run, *, emulated: bool) -> None:
    """Refuse a modelled run if the other is measured, and the other way round."""
    if run.machine.emulated == emulated:
        return
    kinds = {True: "emulated", False: "of a real device"}
    raise UsageError(
        f"run {run.run.id} is {kinds[not emulated]}, and the other is {kinds[emulated]}: modelled "
        "numbers are never compared with measured ones",
        hint="compare runs of the same kind",
    )
