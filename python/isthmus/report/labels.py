"""Which results belong to which part of a report, and what they are called there."""

from collections.abc import Iterable

from isthmus.run.model import Result, Run
from isthmus.run.naming import Kind

BANDWIDTH = "bandwidth"


def of_suite(run: Run, suite: str) -> list[Result]:
    """List the results of a suite."""
    return [result for result in run.results if result.suite == suite]


def of_kind(run: Run, kind: Kind, metric: str | None = None) -> list[Result]:
    """List the results of a kind of test; of one metric, if it is named."""
    found = (result for result in run.results if result.kind == kind)
    return [result for result in found if metric is None or result.metric == metric]


def direction_of(result: Result) -> str:
    """Name the way the bytes go, "H2D" or "D2H"; "" of what has none."""
    return (result.direction or "").upper()


def upload_first(results: Iterable[Result]) -> list[Result]:
    """Sort results: those to the device first, of each direction the fewest bytes first."""
    return sorted(results, key=lambda result: (result.direction != "h2d", result.bytes))
