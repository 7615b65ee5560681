"""The progress of a run, on stderr."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from isthmus.cli.stderr import say
from isthmus.cli.terminal import is_terminal
from isthmus.ground.spelling import counted
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import Observer
from isthmus.measure.run.result import Result, Status
from isthmus.show.numbers import gigabytes_per_second, microseconds
from isthmus.show.quantities import quantity

# Of a run with more points, not each has a line.
_FEW_POINTS = 30
_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress(
    points: Sequence[Point], promised_s: float | None, num_processes: int = 1
) -> Iterator[Observer]:
    """
    Follow a run: with a live bar on a terminal, with a few lines elsewhere. Each of the processes,
    one after the other, measures all points.
    """
    if not is_terminal(sys.stderr):
        lines = Lines(points, num_processes)
        yield lines
        lines.end()
        return
    from isthmus.cli.bench.bar import BenchBar
    from isthmus.cli.progress_bar import progress_bar

    with progress_bar() as bar:
        yield BenchBar(bar, num_processes * tuple(points), promised_s)


class Lines:
    """
    Prints lines with the seconds since the run began: for programs and files. Of a few points, each
    has one. Of many, each suite has one, and one comes every ten seconds. Tests that were waived
    for the same reason share a line at the end, and each failure has one.
    """

    def __init__(
        self,
        points: Sequence[Point],
        num_processes: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Begin before the first point; each of the processes, one after the other, measures all of
        them.
        """
        self._points = points
        self._total = num_processes * len(points)
        self._clock = clock
        self._started_s = self._told_s = clock()
        self._index = 0
        self._num_measured = 0
        self._waived: dict[str, list[str]] = {}

    def point_started(self, index: int, total: int, point: Point) -> None:
        """Remember the point; its line is printed when its results exist."""
        del total, point
        self._index = index

    def point_finished(self, point: Point, results: Sequence[Result]) -> None:
        """Print the results, or count them."""
        waived = all(result.status == Status.WAIVED for result in results)
        if waived:
            self._waived.setdefault(results[0].reason or "", []).append(point.test.name)
        else:
            self._num_measured += 1
        failed = any(result.status == Status.ERROR for result in results)
        few = self._total <= _FEW_POINTS
        if failed or (few and not waived):
            self._say(f"{point.label}: {outcome_text(results)}")
        if few:
            return
        if self._num_measured and self._ends_suite(point):
            self._say(f"{point.test.suite}: {counted(self._num_measured, 'point')} measured")
            self._num_measured = 0
        elif not waived and self._clock() - self._told_s >= _SECONDS_BETWEEN_LINES:
            self._say(f"{point.test.suite}: {point.label}")

    def end(self) -> None:
        """Print what was waived."""
        for reason, tests in self._waived.items():
            names = list(dict.fromkeys(tests))
            what = names[0] if len(names) == 1 else counted(len(names), "test")
            say(f"not measured: {what}, {counted(len(tests), 'point')}: {reason}")

    def _ends_suite(self, point: Point) -> bool:
        """Whether its process measures no further point of its suite."""
        rest = self._points[self._index % len(self._points) + 1 :]
        return all(other.test.suite != point.test.suite for other in rest)

    def _say(self, text: str) -> None:
        self._told_s = self._clock()
        place = f"[{self._index + 1:{len(str(self._total))}}/{self._total}]"
        say(f"{place} {self._told_s - self._started_s:3.0f} s  {text}")


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
