"""How runs compare, as text: what differs between their machines, then what changed."""

from collections.abc import Sequence

from isthmus.compare.comparison import Change, Comparison, Verdict
from isthmus.compare.machines import differences
from isthmus.compare.subject import Subject
from isthmus.report.fitting import PAGE_WIDTH, table_lines, wrapped
from isthmus.report.page import Table
from isthmus.report.quantities import percent, quantity
from isthmus.run.model import Run
from isthmus.sizes import format_size

_ORDER = (Verdict.LOST, Verdict.SLOWER, Verdict.FASTER, Verdict.SAME)
_EMULATED = "EMULATED devices: modelled, not measured on a GPU"
Rows = dict[Subject, dict[int, Change]]


def comparison_text(
    runs: Sequence[Run],
    comparisons: Sequence[Comparison],
    *,
    every: bool,
    width: int = PAGE_WIDTH,
) -> str:
    """
    Write how later runs compare with the first.

    Args:
        runs: The first run, and those that are compared with it.
        comparisons: The comparison of each of those with the first, in their order.
        every: Also show results that stayed the same.
        width: The most characters in a line.
    """
    tables = [differences_table(runs), changes_table(runs, comparisons, every=every)]
    blocks = [[_EMULATED]] if runs[0].machine.emulated else []
    blocks += [table_lines(table, width) for table in tables if table is not None]
    blocks.append(
        [part for line in summary_lines(runs, comparisons) for part in wrapped(line, width)]
    )
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def differences_table(runs: Sequence[Run]) -> Table | None:
    """Lay out what differs between the machines; None if nothing does."""
    found = differences(runs)
    if not found:
        return None
    return Table(
        title="What differs between the runs",
        heads=("fact", *_names(runs)),
        rows=tuple((difference.fact, *difference.values) for difference in found),
        num_text_columns=1 + len(runs),
    )


def changes_table(
    runs: Sequence[Run], comparisons: Sequence[Comparison], *, every: bool
) -> Table | None:
    """Lay out results that changed, the worst first; None if none did."""
    rows: Rows = {}
    for index, comparison in enumerate(comparisons):
        for change in comparison.changes:
            rows.setdefault(change.subject, {})[index] = change
    shown = [(subject, changes) for subject, changes in rows.items() if every or _differs(changes)]
    if not shown:
        return None
    first, *others = _names(runs)
    num_others = range(len(others))
    return Table(
        title="Results that changed" if not every else "Results",
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


def summary_lines(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> list[str]:
    """Summarise each comparison in a line."""
    return [
        _summary(name, comparison)
        for name, comparison in zip(_names(runs)[1:], comparisons, strict=True)
    ]


def _summary(name: str, comparison: Comparison) -> str:
    counts = ", ".join(f"{comparison.count(verdict)} {verdict}" for verdict in _ORDER[::-1])
    missing = comparison.num_only_before, comparison.num_only_after
    alone = f"; {missing[0]} results only before, {missing[1]} only after" if any(missing) else ""
    return f"{name}: {counts}{alone}"


def _names(runs: Sequence[Run]) -> list[str]:
    """Name runs by their ids; with a number if one run is given twice."""
    ids = [run.run.id for run in runs]
    return [
        name if ids.count(name) == 1 else f"{name} ({index + 1})" for index, name in enumerate(ids)
    ]


def _differs(changes: dict[int, Change]) -> bool:
    return any(change.verdict != Verdict.SAME for change in changes.values())


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
    number = quantity(after.median, after.unit) if after.median is not None else after.status.value
    return (number, change.verdict.value, percent(change.relative))
