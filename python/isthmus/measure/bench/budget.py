"""Divides the time of a run among its points."""

import time
from collections.abc import Callable, Sequence
from itertools import takewhile

from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.tests.bench_test import Suite

_MIN_SHARE_S = 0.01
# Parts of the reserve: the time between the budget's end and the last moment.
_SOME, _ALL = 0.5, 1.0


class Budget:
    """
    A number of seconds, divided by weight. Later points get what a point leaves unused, and lose
    what it overruns. Points are asked for in their order, each once.
    """

    def __init__(
        self,
        seconds: float,
        points: Sequence[Point],
        clock: Callable[[], float] = time.monotonic,
        *,
        latest_s: float | None = None,
    ) -> None:
        """Start the clock; points will ask in the order given, and none begins after `latest_s`."""
        self._clock = clock
        self._started = clock()
        self._seconds = seconds
        self._latest_s = latest_s
        self._weight = self._weight_left = sum(point.weight for point in points)
        first = list(takewhile(lambda point: point.test.suite != Suite.MULTI, points))
        self._num_first, self._weight_first = len(first), sum(point.weight for point in first)
        self._ends = _ends_of_tests(points)
        self._first_of_suites = _first_of_suites(points)
        self._index = 0

    def share(self, point: Point) -> float | None:
        """
        Give the next point its seconds; None if the last moment has passed, or the run is behind
        its plan. If half of the reserve is used up, points are left out of the middle of every
        test; if all of it is, all but the first of every suite are, so that the last tests aren't
        left out as a whole.
        """
        own, index = point.weight, self._index
        used = self._used_reserve()
        behind = own > 0 and (
            self.is_over()
            or (used > _SOME and index not in self._ends)
            or (used > _ALL and index not in self._first_of_suites)
        )
        seconds_left = max(0.0, self._seconds - self._elapsed())
        share = seconds_left * own / self._weight_left if self._weight_left > 0 else 0.0
        self._weight_left -= own
        self._index += 1
        return None if behind else max(share, _MIN_SHARE_S)

    def is_over(self) -> bool:
        """Whether the last moment has passed at which a point may begin."""
        return self._latest_s is not None and self._elapsed() > self._latest_s

    def _used_reserve(self) -> float:
        """Give the part of the reserve that the points so far took beyond their own parts."""
        whole = self._weight_first if self._index < self._num_first else self._weight
        if self._latest_s is None or whole <= 0:
            return 0.0
        planned_s = self._seconds * (self._weight - self._weight_left) / whole
        reserve_s = max(self._latest_s - self._seconds, _MIN_SHARE_S)
        return (self._elapsed() - planned_s) / reserve_s

    def _elapsed(self) -> float:
        return self._clock() - self._started


def _ends_of_tests(points: Sequence[Point]) -> set[int]:
    """Give the indices of each test's first and last point."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for index, point in enumerate(points):
        first.setdefault(point.test.name, index)
        last[point.test.name] = index
    return {*first.values(), *last.values()}


def _first_of_suites(points: Sequence[Point]) -> set[int]:
    """Give the index of each suite's first point."""
    first: dict[str, int] = {}
    for index, point in enumerate(points):
        first.setdefault(point.test.suite, index)
    return set(first.values())
