"""How runs compare, for programs: JSON, CSV with a row for each result and run, and JUnit."""

from collections import Counter
from collections.abc import Sequence
from math import isfinite
from typing import Any, Literal

from isthmus.ground.json_text import csv_of_records, json_text
from isthmus.ground.spelling import counted
from isthmus.measure.compare.comparison import Change, Comparison
from isthmus.measure.compare.judging import FALSE_ALARMS, POWER, Judgement, Verdict
from isthmus.measure.compare.machines import differences
from isthmus.measure.run.model import Run
from isthmus.show.answers.comparison import names_of
from isthmus.show.junit import Case, junit_text
from isthmus.show.quantities import percent

_OF_FAMILIES = (Verdict.FASTER, Verdict.SAME, Verdict.CANT_TELL, Verdict.SLOWER)
_FATES = (Verdict.LOST, Verdict.OUT_OF_TIME, Verdict.NOT_ASKED)
_OUTCOMES: dict[Verdict | None, Literal["failure", "skipped"]] = {
    Verdict.SLOWER: "failure",
    Verdict.LOST: "failure",
    Verdict.CANT_TELL: "skipped",
    Verdict.OUT_OF_TIME: "skipped",
    Verdict.NOT_ASKED: "skipped",
}
_COLUMNS = (
    *("emulated", "before_run", "after_run", "test", "metric", "bytes", "circumstances", "unit"),
    *("before", "after", "change", "family", "verdict"),
)


def comparison_json(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as JSON, numbers in bytes and seconds, null where there is none."""
    first, *others = runs
    document = {
        "schema_version": 3,
        "emulated": first.machine.emulated,
        "before": first.run.id,
        "differences": [
            {"fact": found.fact, "values": list(found.values)} for found in differences(runs)
        ],
        "comparisons": [
            {
                "after": run.run.id,
                "verdict": comparison.verdict.value,
                "false_alarms_at_most": FALSE_ALARMS if comparison.repeated else None,
                **{_key(verdict): comparison.count(verdict) for verdict in _OF_FAMILIES},
                **{_key(fate): comparison.count_results(fate) for fate in _FATES},
                "not_judged": comparison.num_not_judged,
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


def comparison_junit(runs: Sequence[Run], comparisons: Sequence[Comparison]) -> str:
    """Write comparisons as JUnit's XML: a case for each family, and each test that isn't there."""
    names = names_of(runs)
    suites = {
        f"{name} compared with {names[0]}": [
            *(_family_case(judgement) for judgement in comparison.judgements),
            *_result_cases(comparison),
        ]
        for name, comparison in zip(names[1:], comparisons, strict=True)
    }
    return junit_text("isthmus compare", suites)


def _family_case(judgement: Judgement) -> Case:
    message = f"{judgement.verdict}: {percent(judgement.change)}"
    return Case(judgement.family.name, _OUTCOMES.get(judgement.verdict, ""), message)


def _result_cases(comparison: Comparison) -> list[Case]:
    own = {one.family: one.verdict for one in comparison.judgements}
    odd = [c for c in comparison.changes if c.verdict != (c.family and own.get(c.family))]
    counts = Counter((one.subject.test, one.verdict) for one in odd if one.verdict)
    return [
        Case(test, _OUTCOMES[verdict], f"{verdict}: {counted(num, 'result')}")
        for (test, verdict), num in counts.items()
    ]


def _key(verdict: Verdict) -> str:
    return verdict.replace("'", "").replace(" ", "_")


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
        "after": change.after and change.after.median,
        "change": change.relative,
        "family": change.family and change.family.name,
        "verdict": change.verdict and change.verdict.value,
    }
