"""How runs compare, for programs: JSON, and CSV with a row for each result and run."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from isthmus.compare.comparison import Change, Comparison
from isthmus.compare.judging import FALSE_ALARMS, POWER, Judgement, Verdict
from isthmus.compare.machines import differences
from isthmus.csv_text import csv_of_records
from isthmus.json_text import json_text
from isthmus.run.model import Run

_OF_FAMILIES = (Verdict.FASTER, Verdict.SAME, Verdict.SLOWER)
_COLUMNS = (
    *("emulated", "before_run", "after_run", "test", "metric", "bytes", "circumstances", "unit"),
    *("before", "after", "change", "family", "verdict"),
)


def comparison_json(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as JSON, numbers in bytes and seconds, null where there is none."""
    first, *others = runs
    document = {
        "schema_version": 2,
        "emulated": first.machine.emulated,
        "before": first.run.id,
        "differences": [
            {"fact": found.fact, "values": list(found.values)} for found in differences(runs)
        ],
        "comparisons": [
            {
                "after": run.run.id,
                "regressed": comparison.regressed,
                "false_alarms_at_most": FALSE_ALARMS,
                **{verdict.value: comparison.count(verdict) for verdict in _OF_FAMILIES},
                "lost": comparison.num_lost,
                "not_judged": comparison.num_not_judged,
                "only_before": comparison.num_only_before,
                "only_after": comparison.num_only_after,
                "families": [_family(judgement) for judgement in comparison.judgements],
                "results": [_row(change) for change in comparison.changes],
            }
            for run, comparison in zip(others, comparisons, strict=True)
        ],
    }
    return json_text(document)


def comparison_csv(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as CSV."""
    first, *others = runs
    records = (
        {
            "emulated": str(first.machine.emulated).lower(),
            "before_run": first.run.id,
            "after_run": run.run.id,
            **_row(change),
            "circumstances": change.subject.words,
        }
        for run, comparison in zip(others, comparisons, strict=True)
        for change in comparison.changes
    )
    return csv_of_records(_COLUMNS, records)


def _family(judgement: Judgement) -> dict[str, Any]:
    low, high = judgement.interval
    return {
        "family": judgement.family.name,
        "unit": judgement.family.unit,
        "clock": judgement.family.clock,
        "num_results": judgement.num_results,
        "change": _finite(judgement.change),
        "change_at_least": _finite(low),
        "change_at_most": _finite(high),
        "drift": judgement.drift,
        "drift_measured": judgement.measured,
        "power": POWER,
        "finds_loss_from": _finite(judgement.found_from),
        "verdict": judgement.verdict.value,
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


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
        "family": change.family and change.family.name,
        "verdict": change.verdict and change.verdict.value,
    }
