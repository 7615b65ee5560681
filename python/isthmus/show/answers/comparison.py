"""How runs compare, as text: their machines, families with verdicts, results that changed."""

from collections.abc import Sequence

from isthmus.ground.sizes import format_size
from isthmus.ground.spelling import counted, one_line
from isthmus.measure.compare.comparison import Change, Comparison
from isthmus.measure.compare.families import Subject
from isthmus.measure.compare.judging import FALSE_ALARMS, POWER, Judgement, Verdict
from isthmus.measure.compare.machines import differences
from isthmus.measure.run.model import Run
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped_lines
from isthmus.show.page import Table
from isthmus.show.quantities import percent, quantity

_ORDER = (
    *(Verdict.LOST, Verdict.SLOWER, Verdict.CANT_TELL, Verdict.FASTER, Verdict.OUT_OF_TIME),
    *(Verdict.NOT_ASKED, Verdict.SAME, None),
)
_CHANGED = frozenset({Verdict.LOST, Verdict.SLOWER, Verdict.FASTER})
_FATES = (Verdict.LOST, Verdict.OUT_OF_TIME, Verdict.NOT_ASKED)
_MOST_NAMED = 5
_MORE_PROCESSES = 2
_EMULATED = "EMULATED devices: modelled, not measured on a GPU"
_MEASURED_IN = {"B/s": "bandwidth", "s": "time"}
# The head of a column: the smallest loss that a comparison with this drift detects.
_SMALLEST = "can detect"
_NOT_JUDGED = "not judged"
Rows = dict[Subject, dict[int, Change]]


def comparison_text(
    runs: Sequence[Run],
    comparisons: Sequence[Comparison],
    *,
    every: bool,
    width: int = PAGE_WIDTH,
) -> str:
    """
    Write how later runs compare with the first; `every` shows also families that stayed the same,
    and results that aren't judged.
    """
    blocks = [[_EMULATED]] if runs[0].machine.emulated else []
    blocks.append(wrapped_lines(summary_lines(runs, comparisons), width))
    tables = [
        differences_table(runs),
        *(
            families_table(name, comparison)
            for name, comparison in zip(names_of(runs)[1:], comparisons, strict=True)
        ),
        changes_table(runs, comparisons, every=every),
    ]
    blocks += [table_lines(table, width) for table in tables if table is not None]
    blocks.append(wrapped_lines(drift_lines(runs, comparisons), width))
    return blocks_text(blocks)


def differences_table(runs: Sequence[Run]) -> Table | None:
    """Lay out what differs between the machines; None if nothing does."""
    found = differences(runs)
    if not found:
        return None
    return Table(
        title="What differs between the runs",
        heads=("fact", *names_of(runs)),
        rows=tuple((difference.fact, *difference.values) for difference in found),
        num_text_columns=1 + len(runs),
    )


def families_table(name: str, comparison: Comparison) -> Table | None:
    """Lay out the families of one comparison, the worst first; None if there are none."""
    if not comparison.judgements:
        return None
    ordered = sorted(comparison.judgements, key=lambda found: _ORDER.index(found.verdict))
    return Table(
        title=f"{name}: families of results, each judged as a whole",
        heads=(
            *("family", "of", "verdict", "results"),
            *("change", "at least", "at most", "drift", _SMALLEST),
        ),
        rows=tuple(map(_family_row, ordered)),
        num_text_columns=3,
    )


def _family_row(judgement: Judgement) -> tuple[str, ...]:
    low, high = judgement.interval
    stated = "" if judgement.measured else "?"
    return (
        judgement.family.name,
        _MEASURED_IN[judgement.family.unit],
        judgement.verdict.value,
        str(judgement.num_results),
        percent(judgement.change),
        percent(low),
        percent(high),
        f"{judgement.drift * 100:.1f} %{stated}",
        f"{judgement.found_from * 100:.0f} %",
    )


def changes_table(
    runs: Sequence[Run], comparisons: Sequence[Comparison], *, every: bool
) -> Table | None:
    """Lay out results of families that changed, the worst first; None if there are none."""
    rows: Rows = {}
    for index, comparison in enumerate(comparisons):
        for change in comparison.changes:
            rows.setdefault(change.subject, {})[index] = change
    shown = [(subject, changes) for subject, changes in rows.items() if every or _differs(changes)]
    if not shown:
        return None
    first, *others = names_of(runs)
    num_others = range(len(others))
    return Table(
        title="Results" if every else "Results that were lost or that changed",
        heads=(
            *("test", "metric", "size", "circumstances", first),
            *(head for name in others for head in (name, "verdict", "change")),
        ),
        rows=tuple(
            (
                *(subject.test, subject.metric, format_size(subject.size_bytes), subject.words),
                _before(changes),
                *(cell for index in num_others for cell in _cells(changes.get(index))),
            )
            for subject, changes in sorted(shown, key=_badness)
        ),
        num_text_columns=4,
    )


def drift_lines(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> list[str]:
    """Say what the columns mean, which runs have no repeats, and which drifts are assumed."""
    judgements = [found for comparison in comparisons for found in comparison.judgements]
    if not judgements:
        return []
    found = f"the smallest loss that this comparison would catch ({POWER * 100:.0f} %)"
    rate = "none in 24 pairs of unchanged single runs of GPUs"
    if all(comparison.repeated for comparison in comparisons):
        rate = f"in at most {FALSE_ALARMS * 100:.0f} % of comparisons of unchanged programs"
    lines = [
        f"drift: standard deviation between processes; {_SMALLEST}: {found}",
        f"false alarms: {rate}",
    ]
    single = [name for name, run in zip(names_of(runs), runs, strict=True) if not _has_repeats(run)]
    remarks = []
    if single:
        remarks.append(f"{', '.join(single)} {'has' if len(single) == 1 else 'have'} no repeats")
    if not all(comparison.repeated for comparison in comparisons):
        remarks.append(
            "?: the largest drift ever seen between unchanged single runs; `isthmus bench --repeat "
            "5` measures yours"
        )
    return [*lines, ". ".join(remarks)] if remarks else lines


def _has_repeats(run: Run) -> bool:
    return any(len(result.repeats or ()) > 1 for result in run.results)


def summary_lines(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> list[str]:
    """Say each comparison's verdict, what was counted, and what would tell."""
    lines = []
    for name, run, comparison in zip(names_of(runs)[1:], runs[1:], comparisons, strict=True):
        troubles = dict.fromkeys(one_line(c.trouble) for c in comparison.changes if c.trouble)
        lines += list(troubles)[:_MOST_NAMED]
        lines.append(f"{name}: {comparison.verdict}; {_apart(comparison)}{_counts(comparison)}")
        lines += [line for fate in _FATES if (line := _named(comparison, fate))]
        if comparison.verdict == Verdict.CANT_TELL:
            lines.append(f"to settle it: {what_would_tell((runs[0], run), comparison)}")
    return lines


def _counts(comparison: Comparison) -> str:
    verdicts = (Verdict.SLOWER, Verdict.CANT_TELL, Verdict.FASTER, Verdict.SAME)
    families = ", ".join(f"{comparison.count(verdict)} {verdict}" for verdict in verdicts)
    num = len(comparison.judgements)
    results = ", ".join(f"{comparison.count_results(fate)} {fate}" for fate in _FATES)
    return (
        f"{num} famil{'y' if num == 1 else 'ies'}: {families}; "
        f"{counted(len(comparison.changes) + comparison.num_derived, 'result')}: {results}, "
        f"{comparison.num_not_judged} not judged, {comparison.num_only_after} only after"
    )


def _apart(comparison: Comparison) -> str:
    return "".join(
        f"{counted(len(found), 'single result')} {verdict}: {_tests(found)}; "
        for verdict in (Verdict.SLOWER, Verdict.CANT_TELL)
        if (found := comparison.apart(verdict))
    )


def _named(comparison: Comparison, fate: Verdict) -> str:
    own = [change for change in comparison.changes if change.verdict == fate]
    return f"{fate}: {_tests(own)}" if own else ""


def _tests(changes: Sequence[Change]) -> str:
    tests = list(dict.fromkeys(change.subject.test for change in changes))
    more = len(tests) - _MOST_NAMED
    return ", ".join(tests[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def what_would_tell(runs: tuple[Run, Run], comparison: Comparison) -> str:
    """Say which runs would answer what these can't."""
    ways = []
    if comparison.unfinished:
        budget = max(run.options.budget_s for run in runs)
        ways.append(f"a run that isn't interrupted, with a --budget above {budget:.3g} s")
    most = max(run.options.repeat or 1 for run in runs)
    repeat = 5 if most == 1 else _MORE_PROCESSES * most
    doubtful = [one for one in comparison.judgements if one.verdict == Verdict.CANT_TELL]
    if any(one.repeats_tell for one in doubtful):
        ways.append(f"both runs with `isthmus bench --repeat {repeat}`")
    if wild := [one.family.name for one in doubtful if not one.repeats_tell]:
        ways.append(f"other runs on the idle machine ({', '.join(wild)}: runs differ so much)")
    if apart := comparison.apart(Verdict.CANT_TELL):
        ways.append(f"both with `isthmus bench -t {apart[0].subject.test} --repeat {repeat}`")
    return ", and ".join(ways) or "two runs of the same tests"


def names_of(runs: Sequence[Run]) -> list[str]:
    """Name runs by their ids; with a number if one run is given twice."""
    ids = [run.run.id for run in runs]
    return [
        name if ids.count(name) == 1 else f"{name} ({index + 1})" for index, name in enumerate(ids)
    ]


def _differs(changes: dict[int, Change]) -> bool:
    return any(change.verdict in _CHANGED for change in changes.values())


def _badness(row: tuple[Subject, dict[int, Change]]) -> tuple[int, float]:
    changes = row[1].values()
    worst = min(_ORDER.index(change.verdict) for change in changes)
    return worst, -max(abs(change.relative or 0.0) for change in changes)


def _before(changes: dict[int, Change]) -> str:
    before = next(iter(changes.values())).before
    return quantity(before.median, before.unit)


def _cells(change: Change | None) -> tuple[str, str, str]:
    if change is None:
        return ("", "", "")
    after = change.after
    number = "-" if after is None else after.status.value
    if after is not None and after.median is not None:
        number = quantity(after.median, after.unit)
    verdict = _NOT_JUDGED if change.verdict is None else change.verdict.value
    return (number, verdict, percent(change.relative))
