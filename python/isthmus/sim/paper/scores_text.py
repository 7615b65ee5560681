"""The paper's results beside ours, as text, JSON and CSV."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from isthmus.ground.json_text import json_text
from isthmus.ground.sizes import format_size, parse_size
from isthmus.show.fitting import PAGE_WIDTH, blocks_text, table_lines, wrapped, wrapped_lines
from isthmus.show.format import Format
from isthmus.show.page import Table
from isthmus.sim.as_text import MODELLED, csv_text
from isthmus.sim.paper.evaluation import Evaluation
from isthmus.sim.paper.scores import BOUND, Score, score_readings, times_within, with_spread
from isthmus.sim.paper.studies import (
    BANDWIDTHS,
    BASELINES,
    FAULT_LATENCIES,
    READINGS,
    UNITS,
)
from isthmus.sim.paper.targets import MATCHED_WITHIN, Verdict

_BASELINES_AT = BANDWIDTHS[:2]
_BASELINE_KEYS = ("baseline", "at_16", "at_32")
_HONESTY = (
    '"98.62 % slower" means 1 / (1 - 0.9862) = 72.5x the time, not 98.62x.',
    (
        f"matched: within {MATCHED_WITHIN:.0%}, or as the target says; no effect: less than a "
        "quarter of the paper's distance from 1. Whether requests merge is assumed: the paper "
        "doesn't say. No default was chosen because a target came out right."
    ),
)
_IN_A_TABLE = 8
_MARKS = {
    Verdict.MATCHED: "=",
    Verdict.DIRECTION: "~",
    Verdict.NO_EFFECT: "o",
    Verdict.NOT_MATCHED: "",
    Verdict.NOT_SCORED: "-",
}


def scores_text(
    scores: Sequence[Score],
    evaluation: Evaluation,
    wanted: Format,
    *,
    width: int = PAGE_WIDTH,
    details: bool = False,
) -> str:
    """Write every target with its verdict, and every reading with its scores."""
    if wanted is Format.JSON:
        return json_text(_document(scores, evaluation, details=details))
    if wanted is Format.CSV:
        return csv_text([{**_row(score), "beside": _joined(score)} for score in scores])
    blocks = [
        wrapped(MODELLED, width),
        wrapped_lines((*_HONESTY, _inputs(evaluation)), width, indent=""),
        table_lines(_table(scores), width),
        wrapped_lines([f"{one.target.name}: {one.note}" for one in scores if one.note], width),
        *(table_lines(table, width) for table in _readings(evaluation)),
        wrapped_lines(_meanings(evaluation), width),
    ]
    if details:
        blocks += [
            wrapped_lines(_notes(scores), width),
            table_lines(_baseline_table(evaluation), width),
            table_lines(_missed(evaluation), width),
        ]
    return blocks_text(blocks)


def _document(
    scores: Sequence[Score], evaluation: Evaluation, *, details: bool
) -> dict[str, object]:
    document = {
        "schema_version": 1,
        "modelled": True,
        "targets": [_row(score) for score in scores],
        "num_seeds": len(evaluation.by_seed()),
        "readings": [
            {
                "reading": name,
                "meaning": READINGS[name].meaning,
                "scores": {
                    target: {"ours": score.ours, "verdict": score.verdict.value}
                    for target, score in by_target.items()
                },
            }
            for name, by_target in score_readings(evaluation).items()
        ],
    }
    if not details:
        return document
    return document | {
        "baselines": [
            dict(zip(_BASELINE_KEYS, row, strict=True)) for row in _baselines(evaluation)
        ],
        "best_unit_by_fault_latency": {
            latency: " or ".join(units) for latency, units in evaluation.best_units().items()
        },
    }


def _readings(evaluation: Evaluation) -> list[Table]:
    """Put the scores of all readings beside each other, a column each: some in a table."""
    found = list(score_readings(evaluation).items())
    return [
        _some_readings(dict(found[at : at + _IN_A_TABLE]))
        for at in range(0, len(found), _IN_A_TABLE)
    ]


def _some_readings(found: Mapping[str, Mapping[str, Score]]) -> Table:
    first, *_ = found.values()
    rows = [(name, *(_cell(by_target[name]) for by_target in found.values())) for name in first]
    matched = (
        sum(score.verdict is Verdict.MATCHED for score in by_target.values())
        for by_target in found.values()
    )
    return Table(
        title="readings, each with all of its scores (= matched, ~ direction, o no effect)",
        heads=("", *found),
        rows=(*rows, ("matched", *map(str, matched))),
        num_text_columns=1,
    )


def _cell(score: Score) -> str:
    most = score.ours.rpartition(" to ")[-1].replace(" ", "")
    return f"{_MARKS[score.verdict]} {most}".strip()


def _meanings(evaluation: Evaluation) -> list[str]:
    return [
        f"{name}: {reading.meaning}"
        for name, reading in READINGS.items()
        if evaluation.has_reading(name)
    ]


def _row(score: Score) -> Mapping[str, object]:
    return {
        "target": score.target.name,
        "quantity": score.target.quantity,
        "theirs": score.target.said,
        "ours": score.ours,
        "verdict": score.verdict.value,
        "note": score.note,
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


def _inputs(evaluation: Evaluation) -> str:
    num_seeds = len(evaluation.by_seed())
    if num_seeds == 1:
        return "One input per program, so means have two digits; --seeds 5 measures the spread."
    return (
        f"{num_seeds} inputs per program: means of seed 0, rounded to half of their spread over "
        "seeds."
    )


def _baselines(evaluation: Evaluation) -> list[tuple[str, ...]]:
    """Give mean times of other baselines over the programmer's copies, and of ranges over them."""
    rows: dict[str, Callable[[Evaluation, str], float]] = {BOUND: Evaluation.overlap_bound}
    for series in (*BASELINES, "ranges"):
        rows[series] = partial(_mean, series)
    for other in BASELINES:
        rows[f"ranges / {other}"] = partial(_mean_over, other)
    seeds = evaluation.by_seed()
    return [
        (
            name,
            *(with_spread([mean(one, bandwidth) for one in seeds]) for bandwidth in _BASELINES_AT),
        )
        for name, mean in rows.items()
    ]


def _mean(series: str, evaluation: Evaluation, bandwidth: str) -> float:
    return evaluation.mean(series, bandwidth)


def _mean_over(other: str, evaluation: Evaluation, bandwidth: str) -> float:
    return evaluation.mean_over("ranges", other, bandwidth)


def _baseline_table(evaluation: Evaluation) -> Table:
    return Table(
        title="not in the paper: mean time over the programmer's copies, of other baselines",
        heads=("", *(one.replace("GB/s", " GB/s") for one in _BASELINES_AT)),
        rows=tuple(_baselines(evaluation)),
        num_text_columns=1,
    )


def _missed(evaluation: Evaluation) -> Table:
    """Show the best unit size for each fault latency, which the paper doesn't have."""
    by_seed = [one.fault_means() for one in evaluation.by_seed()]
    best = evaluation.best_units()
    rows = []
    for latency in FAULT_LATENCIES:
        cells = [[means[latency, unit] for means in by_seed] for unit in UNITS]
        units = " or ".join(format_size(parse_size(unit)) for unit in best[latency])
        rows.append((latency, *(times_within(cell[0], cell) for cell in cells), units))
    return Table(
        title="not in the paper: mean time by fault latency (down) and unit size, at 16 GB/s",
        heads=("fault", *(format_size(parse_size(unit)) for unit in UNITS), "best"),
        rows=tuple(rows),
        num_text_columns=1,
    )
