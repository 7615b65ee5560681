"""The progress of a run, on stderr."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from isthmus.bench.plan import Point
from isthmus.bench.runner import Observer
from isthmus.cli.stderr import is_terminal, say
from isthmus.report.numbers import gigabytes_per_second, microseconds
from isthmus.report.quantities import quantity
from isthmus.run.result import Result


@contextmanager
def progress() -> Iterator[Observer]:
    """Follow a run: with a live bar on a terminal, with a line for each point elsewhere."""
    if not is_terminal(sys.stderr):
        yield Lines()
        return
    from isthmus.cli.progress_bar import progress_bar

    with progress_bar() as bar:
        yield bar


class Lines:
    """Prints one line for each point, with the seconds since the run began."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """
        Begin before the first point.

        Args:
            clock: Seconds since any fixed moment.
        """
        self._place = ""
        self._clock = clock
        self._started_s = clock()

    def point_started(self, index: int, total: int, point: Point) -> None:
        """Remember the point; the line is printed when its results exist."""
        del point
        self._place = f"[{index + 1:{len(str(total))}}/{total}]"

    def point_finished(self, point: Point, results: Sequence[Result]) -> None:
        """Print the results."""
        elapsed_s = self._clock() - self._started_s
        say(f"{self._place} {elapsed_s:3.0f} s  {point.label}: {outcome_text(results)}")


def outcome_text(results: Sequence[Result]) -> str:
    """Summarise a point: its most telling number, or what failed."""
    passed = [result for result in results if result.median is not None]
    for result in passed:
        if result.metric == "bandwidth" and result.median is not None:
            return f"{gigabytes_per_second(result.median)} GB/s"
    for result in passed:
        if result.metric == "completion":
            return f"{microseconds(result.median)} us completion"
    if passed:
        return f"{passed[0].metric} {quantity(passed[0].median, passed[0].unit)}"
    first = results[0]
    return f"{first.status}: {first.error.message if first.error else first.reason}"
