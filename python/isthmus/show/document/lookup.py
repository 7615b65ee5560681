"""Finds single numbers in a run."""

from collections.abc import Iterable, Mapping

from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.naming import Kind, directed_name

DIRECTIONS = {"h2d": "upload", "d2h": "download"}
"""Each direction, and the noun for a copy in it."""


def passed(
    run: Run,
    test: str,
    metric: str,
    *,
    cold: bool = False,
    axes: Mapping[str, str | int] | None = None,
) -> dict[int, Result]:
    """
    List the results of one metric of a test that have a number, by their size; they have at least
    the circumstances `axes`, and cold ones' bytes were not in the CPU's caches.
    """
    wanted = (axes or {}).items()
    return {
        result.bytes: result
        for result in run.results
        if (result.test, result.metric) == (test, metric)
        and result.status == Status.PASSED
        and (result.cpu_cache == "cold") == cold
        and result.num_threads == 1
        and wanted <= result.axes.items()
    }


def bandwidths(run: Run, direction: str, way: str) -> dict[int, Result]:
    """List the bandwidths of copies in one direction by one kind of memory, by their size."""
    return passed(run, directed_name(direction, Kind.MEMCPY, way), "bandwidth")


def best(results: Iterable[Result]) -> Result | None:
    """Choose the highest rate or the shortest time; None if there is no result."""
    found = [result for result in results if result.median is not None]
    if not found:
        return None
    pick = max if found[0].unit == "B/s" else min
    return pick(found, key=lambda result: result.median or 0.0)


def largest_common(first: Mapping[int, Result], second: Mapping[int, Result]) -> int | None:
    """Give the largest size that both have; None if they have none in common."""
    return max(first.keys() & second.keys(), default=None)


def improvement(before: Result, after: Result) -> float | None:
    """Say how many times better a number is; None if one of them is zero or absent."""
    old, new = before.median, after.median
    if not old or not new:
        return None
    return new / old if before.unit == "B/s" else old / new
