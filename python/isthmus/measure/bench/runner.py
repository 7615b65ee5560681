"""
Runs a plan, point by point, and divides the time of a run among its points. A point that fails
becomes a result that says so.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import Protocol

from isthmus.errors import CODES_THAT_END_A_CONTEXT, DriverError, Error, Unavailable
from isthmus.measure.bench import convert
from isthmus.measure.bench.demand import StoppingRule
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.session import Buffers, Measurement, Session
from isthmus.measure.bench.tests.bench_test import Suite
from isthmus.measure.bench.tests.catalogue import BufferKinds
from isthmus.measure.run.result import NO_TIME_LEFT, Result

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


# Codes that calls return when a GPU has fallen off the bus, was removed, or is no longer available
# to the caller: DEVICE_UNAVAILABLE, NO_DEVICE, INVALID_DEVICE, OPERATING_SYSTEM, UNKNOWN. Each of
# them may also have another cause, so the device is asked.
_DOUBTFUL_CODES = frozenset({46, 100, 101, 304, 999})
# Errors of a measurement that don't end the run: Isthmus's own errors, and the plain ones
# that the native module raises when the host runs out of something.
_POINT_ERRORS = (Error, RuntimeError, MemoryError, OSError)

_NO_TIME = NO_TIME_LEFT + "{}: a longer --budget, or fewer tests or sizes, measures it"


class Observer(Protocol):
    """Follows a run, such as a progress bar."""

    def point_started(self, index: int, total: int, point: Point) -> None:
        """Point `index` of `total`, counted from 0, begins."""

    def point_finished(self, point: Point, results: Sequence[Result]) -> None:
        """The point yielded these results."""


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """
    How to run a plan.

    Attributes:
        budget_s: Seconds for all points together, allocations included.
        latest_s: Seconds from the start after which no further point begins; the points for which
            there is no time are waived. None sets no limit.
        num_samples: The number of samples of each metric; None for each test's rule.
        should_stop: Asked before each point; True ends the run there.
    """

    budget_s: float
    keep_samples: bool = False
    latest_s: float | None = None
    num_samples: int | None = None
    verify: bool = True
    should_stop: Callable[[], bool] = field(default=lambda: False)


@dataclass(frozen=True)
class Outcome:
    """The results of a plan, and whether it was stopped before its end."""

    results: list[Result]
    interrupted: bool
    notes: tuple[str, ...] = ()


def run_points(
    session: Session, points: Sequence[Point], settings: RunSettings, observer: Observer
) -> Outcome:
    """
    Measure points in order; neighbours with the same kind of host memory share buffers, because
    allocating gigabytes takes longer than copying them.
    """
    run = _Run(session, points, settings, observer)
    groups = groupby(enumerate(points), key=lambda item: item[1].buffers)
    finished = all(run.measure_group(key, list(group)) for key, group in groups)
    return Outcome(run.results, interrupted=not finished, notes=tuple(session.notes))


class _Run:
    """A run in progress."""

    def __init__(
        self,
        session: Session,
        points: Sequence[Point],
        settings: RunSettings,
        observer: Observer,
    ) -> None:
        self.results: list[Result] = []
        self._session = session
        self._total = len(points)
        self._settings = settings
        self._observer = observer
        self._budget = Budget(settings.budget_s, points, latest_s=settings.latest_s)
        self._lost: DriverError | None = None
        session.clock_reasons()  # reasons before the run don't count

    def measure_group(self, kinds: BufferKinds | None, points: Sequence[tuple[int, Point]]) -> bool:
        """Measure points with the same buffers, if they need any; False if the run was stopped."""
        if self._settings.should_stop():
            return False
        largest_bytes = max(point.size_bytes for _, point in points)
        late = self._budget.is_over()
        buffers = None if kinds is None or late else self._allocate(kinds, largest_bytes)
        for index, point in points:
            if self._settings.should_stop():
                return False
            self._observer.point_started(index, self._total, point)
            results = self._measure(buffers, point)
            self.results.extend(results)
            self._observer.point_finished(point, results)
        return True

    def _allocate(self, kinds: BufferKinds, size_bytes: int) -> Buffers | Exception:
        """Allocate, or return why not: every point of the group then reports it."""
        if self._lost is not None:
            return self._lost
        try:
            return self._session.allocate(kinds, size_bytes)
        except _POINT_ERRORS as error:
            return self._remember(error)

    def _measure(self, buffers: Buffers | Exception | None, point: Point) -> list[Result]:
        share_s = self._budget.share(point)
        if self._lost is not None:
            return convert.failed(point, self._lost, not_run=True)
        if share_s is None:
            over = f" within {self._settings.latest_s:.3g} s"
            used_up = ", since earlier points took longer than planned and used up the reserve"
            why = over if self._budget.is_over() else used_up
            return convert.waived(point, _NO_TIME.format(why))
        if isinstance(buffers, Exception):
            return _unmeasured(point, buffers)
        rule = point.test.stopping(
            point.size_bytes, point.variation, share_s, emulated=self._session.emulated
        )
        rule = rule.asked(self._settings.num_samples, verify=self._settings.verify)
        try:
            measurement, pages = self._ask(buffers, point, rule)
        except _POINT_ERRORS as error:
            return _unmeasured(point, self._remember(error))
        return convert.measured(
            point,
            measurement,
            host_pages_by_node=pages,
            clock_reasons=self._session.clock_reasons(),
            keep_samples=self._settings.keep_samples,
        )

    def _ask(
        self, buffers: Buffers | None, point: Point, rule: StoppingRule
    ) -> tuple[Measurement, Mapping[int, int]]:
        found = self._session.measure(point.test, point.size_bytes, point.variation, rule, buffers)
        where = found if buffers is None else buffers
        return found, where.host_pages_by_node

    def _remember(self, error: Exception) -> Exception:
        if isinstance(error, DriverError) and self._ends_everything(error):
            self._lost = error
        return error

    def _ends_everything(self, error: DriverError) -> bool:
        """Whether an error means that the device is lost; a lost device answers no call."""
        if error.code in CODES_THAT_END_A_CONTEXT:
            return True
        if error.code not in _DOUBTFUL_CODES:
            return False
        try:
            self._session.free_device_bytes()
        except DriverError:
            return True
        return False


def _unmeasured(point: Point, error: Exception) -> list[Result]:
    if isinstance(error, Unavailable):
        return convert.waived(point, str(error))
    return convert.failed(point, error)
