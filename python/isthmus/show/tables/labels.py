"""Which results belong to which part of a report, and their labels."""

from collections.abc import Iterable

from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind

BANDWIDTH = "bandwidth"


def of_suite(run: Run, suite: str) -> list[Result]:
    """List the results of a suite."""
    return [result for result in run.results if result.suite == suite]


def of_kind(run: Run, kind: Kind, metric: str | None = None) -> list[Result]:
    """List the results of a kind of test; with a metric, only its results."""
    found = (result for result in run.results if result.kind == kind)
    return [result for result in found if metric is None or result.metric == metric]


def direction_of(result: Result) -> str:
    """Name the direction, "H2D" or "D2H"; "" if there is none."""
    return (result.direction or "").upper()


def upload_first(results: Iterable[Result]) -> list[Result]:
    """Sort results: uploads first, and in each direction by size."""
    return sorted(results, key=lambda result: (result.direction != "h2d", result.bytes))
