"""Figures of two programs that ran by turns: read, compared, and laid out."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

TOLERANCE = 0.05


@dataclass(frozen=True, order=True)
class Figure:
    """What is compared: names as `isthmus reproduce` gives them, and the size of a copy."""

    table: str
    quantity: str
    bytes: int


Turn = Mapping[Figure, float]
"""What one run of a program found, in seconds or B/s."""


def plain_turn(text: str, average: Callable[[Sequence[float]], float] = mean) -> Turn:
    """
    Read what tests/gpu/experiments.cu prints: a JSON object a line.

    Args:
        text: Its output.
        average: Makes one number of a figure's runs.
    """
    runs: dict[Figure, list[float]] = defaultdict(list)
    for line in text.splitlines():
        row = json.loads(line)
        runs[Figure(row["table"], row["quantity"], row["bytes"])].append(row["value"])
    return {figure: average(values) for figure, values in runs.items()}


def our_turn(text: str) -> Turn:
    """Read ours from `isthmus reproduce NAME --format json`, without what wasn't measured."""
    [experiment] = json.loads(text)["experiments"]
    return {
        Figure(row["table"], row["quantity"], row["bytes"]): row["ours"]
        for row in experiment["figures"]
        if row["ours"] is not None and row["measured_between"] is None
    }


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """
    One figure of both programs, over all turns.

    The medians over the turns are compared, because a single turn may have been disturbed. Ours
    agrees if it is within 5 % of the plain program's. If one of the plain program's own turns is
    further than that from their median, a limit of 5 % would judge the machine and not the
    program: then ours agrees if it is within the range of the plain program's turns, widened by
    5 % at each end. `by_range` says that this was the case.
    """

    figure: Figure
    plain: Sequence[float]
    ours: Sequence[float]

    @property
    def ratio(self) -> float:
        """Give our median over the plain program's."""
        return median(self.ours) / median(self.plain)

    @property
    def by_range(self) -> bool:
        """Whether the plain program's turns differ too much for a comparison of medians."""
        middle = median(self.plain)
        return any(abs(value / middle - 1) > TOLERANCE for value in self.plain)

    @property
    def limits(self) -> tuple[float, float]:
        """Give the least and the most that ours may be."""
        middle = median(self.plain)
        low, high = (min(self.plain), max(self.plain)) if self.by_range else (middle, middle)
        return low * (1 - TOLERANCE), high * (1 + TOLERANCE)

    @property
    def agrees(self) -> bool:
        """Whether our median is within the limits."""
        low, high = self.limits
        return low <= median(self.ours) <= high


def compared(plain: Sequence[Turn], ours: Sequence[Turn]) -> list[Comparison]:
    """
    Compare every figure of the plain program.

    Raises:
        AssertionError: A turn of either lacks a figure, or there is none.
    """
    figures = sorted({figure for turn in plain for figure in turn})
    assert figures, "the plain program printed no figure"
    lacking = [
        f"{name} turn {number} has no {figure}"
        for name, turns in (("the plain program's", plain), ("our", ours))
        for number, turn in enumerate(turns, 1)
        for figure in figures
        if figure not in turn
    ]
    assert not lacking, "\n".join(lacking)
    return [
        Comparison(
            figure=figure,
            plain=[turn[figure] for turn in plain],
            ours=[turn[figure] for turn in ours],
        )
        for figure in figures
    ]


def table_of(comparisons: Sequence[Comparison]) -> str:
    """Lay out all figures of all turns, for whoever reads a failure."""
    return "\n".join(line for each in comparisons for line in _lines(each))


def document_of(comparisons: Sequence[Comparison]) -> dict[str, object]:
    """Give all figures of all turns as what `isthmus.ground.json_text` writes."""
    return {"tolerance": TOLERANCE, "figures": [_record(each) for each in comparisons]}


def _lines(each: Comparison) -> list[str]:
    figure, (low, high) = each.figure, each.limits
    verdict = "agrees" if each.agrees else "DIFFERS"
    compared_with = "range" if each.by_range else "median"
    return [
        f"{figure.table}: {figure.quantity}, {figure.bytes} B: {verdict}",
        f"  plain {_numbers(each.plain)}",
        f"  ours  {_numbers(each.ours)}",
        f"  medians {median(each.plain):.4g}, {median(each.ours):.4g}: ratio {each.ratio:.3f}",
        f"  from {low:.4g} to {high:.4g} agrees, by the plain program's {compared_with}",
    ]


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value:.4g}" for value in values)


def _record(each: Comparison) -> dict[str, object]:
    low, high = each.limits
    return {
        "table": each.figure.table,
        "quantity": each.figure.quantity,
        "bytes": each.figure.bytes,
        "plain": list(each.plain),
        "ours": list(each.ours),
        "ratio": each.ratio,
        "by_range": each.by_range,
        "low": low,
        "high": high,
        "agrees": each.agrees,
    }
