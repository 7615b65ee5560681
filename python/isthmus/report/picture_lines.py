"""The lines of a picture: as many as can be distinguished, the most telling of each suite."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.run.model import Result, Run, Status

# A line through fewer points says nothing about sizes.
_FEWEST_SIZES = 3
# The number of colours.
MAX_LINES = 20
DRAWN_UNITS = frozenset({"B/s", "s"})
# This suite has a picture of its own.
_DRAWN_APART = "pinned_vs_pageable"
# If a test has one of these metrics, it is the most telling one.
_LEADING = ("bandwidth", "completion", "allocate", "fenced", "complete", "asked")
# Circumstances that a test chooses by size: they don't distinguish lines over sizes.
_BY_SIZE = frozenset({"live"})
_WAYS = {"h2d": "host to device", "d2h": "device to host", None: "both ways"}


@dataclass(frozen=True, kw_only=True)
class Line:
    """
    A metric of a test in one circumstance, at several sizes.

    Attributes:
        test: Its name.
        metric: Its name.
        words: The circumstances, perhaps none.
        results: One for each size.
    """

    test: str
    metric: str
    words: str
    results: list[Result]

    @property
    def name(self) -> str:
        """The text in the legend."""
        metric = "" if self.metric == "bandwidth" else self.metric
        return ", ".join(filter(None, (f"{self.test} {metric}".strip(), self.words)))


def lines_by_suite(run: Run) -> dict[tuple[str, str], list[Line]]:
    """Collect the results at several sizes, by suite and unit."""
    lines: dict[tuple[str, str, str, str, str], list[Result]] = defaultdict(list)
    for result in run.results:
        shown = result.unit in DRAWN_UNITS and result.suite != _DRAWN_APART
        if shown and result.status == Status.PASSED and result.stopped_by:
            words = _of_any_size(result).variation
            key = (result.suite or "all", result.unit, result.test, result.metric, words)
            lines[key].append(result)
    found: dict[tuple[str, str], list[Line]] = defaultdict(list)
    for (suite, unit, test, metric, words), results in lines.items():
        if len({result.bytes for result in results}) >= _FEWEST_SIZES:
            line = Line(test=test, metric=metric, words=words, results=results)
            found[suite, unit].append(line)
    return found


def _of_any_size(result: Result) -> Result:
    axes = {name: value for name, value in result.axes.items() if name not in _BY_SIZE}
    return result.model_copy(update={"axes": axes})


def parts_of(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """
    Choose lines for pictures in which they can be distinguished.

    Returns:
        All in one picture, named "", if they are few. Otherwise the first circumstance of each
        test; if still too many, its leading metric; if still too many, a picture per direction.
    """
    chosen = list(lines)
    for narrow in (_first_circumstances, _leading_metrics):
        if len(chosen) > MAX_LINES:
            chosen = narrow(chosen)
    if len(chosen) <= MAX_LINES:
        return {"": chosen}
    parts: dict[str, list[Line]] = defaultdict(list)
    for line in chosen:
        parts[_WAYS[line.results[0].direction]].append(line)
    return {way: own[:MAX_LINES] for way, own in parts.items()}


def _first_circumstances(lines: Sequence[Line]) -> list[Line]:
    first: dict[tuple[str, str], str] = {}
    for line in lines:
        first.setdefault((line.test, line.metric), line.words)
    return [line for line in lines if first[line.test, line.metric] == line.words]


def _leading_metrics(lines: Sequence[Line]) -> list[Line]:
    leading: dict[str, str] = {}
    for line in lines:
        best = leading.setdefault(line.test, line.metric)
        if line.metric in _LEADING and best not in _LEADING:
            leading[line.test] = line.metric
    return [line for line in lines if leading[line.test] == line.metric]
