"""The bandwidth table: a row for each size, a column for each test."""

from isthmus.ground.sizes import format_size
from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.naming import Kind
from isthmus.show.page import Table
from isthmus.show.tables.labels import BANDWIDTH, direction_of, of_kind
from isthmus.show.tables.pivot import by_size, pivot, size_word

# From this interquartile range on, as a fraction of the median, a number is called noisy.
_NOISY = 0.05
# The two kinds of memory that every program uses; the others have tables of their own.
_WAYS = {"ce", "pageable"}
_MAX_NAMED = 6
_BACK_TO_BACK, _ONE_AT_A_TIME = "back to back", "one blocking call and wait at a time"
_HOW_TIMED = {
    ("device", True): f"{_BACK_TO_BACK} behind a gate, by the GPU's clock",
    ("device", False): f"{_BACK_TO_BACK}, by the GPU's clock",
    ("host", True): f"{_BACK_TO_BACK} behind a gate, by the CPU's clock",
    ("host", False): f"{_ONE_AT_A_TIME}, by the CPU's clock",
}


def bandwidth_table(run: Run) -> Table | None:
    """Lay out the medians; None if the run measured no bandwidth."""
    results = _results(run)
    return pivot(
        "Bandwidth, GB/s (median; 1 GB = 1e9 B)",
        by_size(results),
        row={"size": size_word},
        column=_head,
        columns=map(_head, results),
    )


def bandwidth_notes(run: Run) -> list[str]:
    """Say which test is in which column, how each was timed, and which numbers are noisy."""
    results = _results(run)
    lines = list(dict.fromkeys(f"{_head(result)} = {result.test}" for result in results))
    lines += _timing_lines(results)
    noisy = [f"{_head(result)} {format_size(result.bytes)}" for result in results if _noisy(result)]
    if noisy:
        named = ", ".join(noisy[:_MAX_NAMED])
        more = len(noisy) - _MAX_NAMED
        rest = f" and {more} more (iqr in the run's file)" if more > 0 else ""
        lines.append(f"noisy, IQR above {_NOISY:.0%} of the median: {named}{rest}")
    return lines


def _results(run: Run) -> list[Result]:
    return [result for result in of_kind(run, Kind.MEMCPY, BANDWIDTH) if result.way in _WAYS]


def _timing_lines(results: list[Result]) -> list[str]:
    """Say by which clock each kind of memory was timed: one table has two methods."""
    used = dict.fromkeys((r.host_memory, r.clock, r.blocked) for r in results)
    return [f"{memory}: {_HOW_TIMED[clock, blocked]}" for memory, clock, blocked in used]


def _head(result: Result) -> str:
    return f"{direction_of(result)} {result.host_memory}"


def _noisy(result: Result) -> bool:
    if result.status != Status.PASSED or not result.median or result.iqr is None:
        return False
    return result.iqr / result.median > _NOISY
