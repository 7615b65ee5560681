"""The paper's results beside ours, as text, JSON and CSV."""

from collections import Counter
from collections.abc import Mapping, Sequence

from isthmus.json_text import json_text
from isthmus.report.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped, wrapped_lines
from isthmus.report.format import Format
from isthmus.report.page import Table
from isthmus.sim.as_text import MODELLED, csv_text
from isthmus.sim.paper.evaluation import Evaluation
from isthmus.sim.paper.scores import Score, times
from isthmus.sim.paper.studies import FAULT_LATENCIES, FAULT_UNITS
from isthmus.sim.paper.targets import MATCHED_WITHIN, Verdict
from isthmus.sizes import format_size, parse_size

_HONESTY = (
    '"98.62 % slower" means 1 / (1 - 0.9862) = 72.5x the time, not 98.62x.',
    (
        f"matched: within {MATCHED_WITHIN:.0%}, or as the target says. The options follow the "
        "paper's text and were fixed before any run was scored (docs/simulate.md); no parameter "
        "was chosen because a target came out right."
    ),
)


def scores_text(
    scores: Sequence[Score], evaluation: Evaluation, wanted: Format, *, width: int = PAGE_WIDTH
) -> str:
    """
    Write every target with its verdict.

    Args:
        scores: All targets.
        evaluation: The runs they come from.
        wanted: The format.
        width: The most characters in a line of text.
    """
    rows = [_row(score) for score in scores]
    if wanted is Format.JSON:
        document = {
            "schema_version": 1,
            "modelled": True,
            "targets": rows,
            "best_unit_by_fault_latency": evaluation.best_units(),
        }
        return json_text(document)
    if wanted is Format.CSV:
        return csv_text(
            [{**row, "beside": _joined(score)} for row, score in zip(rows, scores, strict=True)]
        )
    blocks = [
        wrapped(MODELLED, width),
        wrapped_lines(_HONESTY, width, indent=""),
        table_lines(_table(scores), width),
        wrapped_lines(_notes(scores), width),
        table_lines(_missed(evaluation), width),
    ]
    return blocks_text(blocks)


def _row(score: Score) -> Mapping[str, object]:
    return {
        "target": score.target.name,
        "quantity": score.target.quantity,
        "theirs": score.target.said,
        "ours": score.ours,
        "verdict": score.verdict.value,
        "why": score.why,
        "beside": dict(score.beside),
    }


def _joined(score: Score) -> str:
    return "; ".join(f"{name}: {value}" for name, value in score.beside.items())


def _table(scores: Sequence[Score]) -> Table:
    verdicts = Counter(score.verdict for score in scores)
    counted = ", ".join(f"{verdicts[one]} {one}" for one in Verdict if verdicts[one])
    rows = tuple(
        (score.target.name, score.target.quantity, _theirs(score), score.ours, score.verdict.value)
        for score in scores
    )
    return Table(
        title=f"paper beside ours ({counted})",
        heads=("", "quantity", "paper", "ours", "verdict"),
        rows=rows,
        num_text_columns=5,
    )


def _theirs(score: Score) -> str:
    return score.target.said.partition(":")[0]


def _notes(scores: Sequence[Score]) -> list[str]:
    """Give the explanations, and the results by other readings."""
    lines = []
    for score in scores:
        if score.why:
            lines.append(f"{score.target.name}: {score.why}")
        if score.beside:
            lines.append(f"{score.target.name} beside: {_joined(score)}")
    return lines


def _missed(evaluation: Evaluation) -> Table:
    """Show the best unit size for each fault latency, which the paper doesn't have."""
    means, best = evaluation.fault_means(), evaluation.best_units()
    rows = tuple(
        (
            latency,
            *(times(means[latency, unit]) for unit in FAULT_UNITS),
            format_size(parse_size(best[latency])),
        )
        for latency in FAULT_LATENCIES
    )
    return Table(
        title="not in the paper: mean time by fault latency (down) and unit size",
        heads=("fault", *(format_size(parse_size(unit)) for unit in FAULT_UNITS), "best"),
        rows=rows,
        num_text_columns=1,
    )
