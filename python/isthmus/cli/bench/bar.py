"""The progress bar of `isthmus bench`."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from isthmus.measure.bench.plan import Point
from isthmus.measure.run.result import Result, Status


class Bar(Protocol):
    """Shows how far a command is: `progress_bar.ProgressBar`, or a test's."""

    def show(self, part: float, counter: str, what: str, left_s: float | None = None) -> None:
        """Move the bar."""

    def tell(self, text: str) -> None:
        """Print a line above it."""


class BenchBar:
    """Shows the running point and the time left, and prints failures at once."""

    def __init__(
        self,
        bar: Bar,
        points: Sequence[Point],
        promised_s: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin before the first point; `promised_s` is when the run will have ended."""
        self._bar = bar
        self._clock = clock
        self._started_s = clock()
        self._promised_s = promised_s
        self._weight = sum(point.weight for point in points)
        self._done = 0.0
        bar.show(0.0, f"0/{len(points)}", "starting", promised_s)

    def point_started(self, index: int, total: int, point: Point) -> None:
        """Name the point, and estimate the time left."""
        part = self._done / self._weight if self._weight else 0.0
        what = f"{point.test.suite}: {point.label}"
        self._bar.show(part, f"{index}/{total}", what, self._left_s(part))

    def point_finished(self, point: Point, results: Sequence[Result]) -> None:
        """Count the point; an error stays on the screen above the bar."""
        self._done += point.weight
        errors = [result for result in results if result.status == Status.ERROR]
        if errors and errors[0].error is not None:
            self._bar.tell(f"error: {point.label}: {errors[0].error.message}")

    def _left_s(self, part: float) -> float | None:
        """Estimate: the other points take as long for their weight; never beyond the promise."""
        elapsed_s = self._clock() - self._started_s
        limit_s = None if self._promised_s is None else self._promised_s - elapsed_s
        guess_s = elapsed_s * (1 - part) / part if part else None
        known = [one for one in (limit_s, guess_s) if one is not None]
        return min(known) if known else None
