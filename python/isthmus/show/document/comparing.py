"""The chapter that says what changed between runs."""

from collections.abc import Sequence

from isthmus.measure.compare.comparison import compare
from isthmus.measure.run.model import Run
from isthmus.show.answers.comparison import (
    changes_table,
    differences_table,
    drift_lines,
    families_table,
    names_of,
    summary_lines,
)
from isthmus.show.document.parts import Chapter


def comparison_chapter(runs: Sequence[Run]) -> Chapter:
    """Compare runs with the first, family by family."""
    first, *others = runs
    comparisons = [compare(first, other) for other in others]
    names = names_of(runs)
    found = (
        differences_table(runs),
        *(families_table(*one) for one in zip(names[1:], comparisons, strict=True)),
        changes_table(runs, comparisons, every=False),
    )
    return Chapter(
        id="comparison",
        title=f"What changed since {names[0]}",
        sentences=tuple(f"{line}." for line in summary_lines(runs, comparisons)),
        tables=tuple(table for table in found if table is not None),
        notes=tuple(drift_lines(runs, comparisons)),
        is_table=True,
    )
