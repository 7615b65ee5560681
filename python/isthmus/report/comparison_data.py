"""How runs compare, for programs: JSON, and CSV with a row for each result and run."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from isthmus.compare.comparison import Change, Comparison, Verdict
from isthmus.compare.machines import differences
from isthmus.json_text import json_text
from isthmus.run.model import Run

_COLUMNS = (
    *("emulated", "before_run", "after_run", "test", "metric", "bytes", "circumstances", "unit"),
    *("before", "after", "change", "verdict"),
)


def comparison_json(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as JSON, numbers in bytes and seconds, null where there is none."""
    first, *others = runs
    document = {
        "schema_version": 1,
        "emulated": first.machine.emulated,
        "before": first.run.id,
        "differences": [
            {"fact": found.fact, "values": list(found.values)} for found in differences(runs)
        ],
        "comparisons": [
            {
                "after": run.run.id,
                "regressed": comparison.regressed,
                **{verdict.value: comparison.count(verdict) for verdict in Verdict},
                "only_before": comparison.num_only_before,
                "only_after": comparison.num_only_after,
                "results": [_row(change) for change in comparison.changes],
            }
            for run, comparison in zip(others, comparisons, strict=True)
        ],
    }
    return json_text(document)


def comparison_csv(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    first, *others = runs
    for run, comparison in zip(others, comparisons, strict=True):
        for change in comparison.changes:
            row = _row(change)
            row["circumstances"] = change.subject.words
            writer.writerow(
                {
                    "emulated": str(first.machine.emulated).lower(),
                    "before_run": first.run.id,
                    "after_run": run.run.id,
                    **row,
                }
            )
    return text.getvalue()


def _row(change: Change) -> dict[str, Any]:
    subject = change.subject
    return {
        "test": subject.test,
        "metric": subject.metric,
        "bytes": subject.size_bytes,
        "circumstances": dict(subject.circumstances),
        "unit": subject.unit,
        "before": change.before.median,
        "after": change.after.median,
        "change": change.relative,
        "verdict": change.verdict.value,
    }
