"""Measures a machine's profile within its time."""

import time
from bisect import insort
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

import isthmus
from isthmus.errors import Unavailable
from isthmus.profile.model import Cost, Machine, Measured, NotMeasured, Path, Point, Profile, Way
from isthmus.profile.plan import Effort, all_ways, applies, refinements

if TYPE_CHECKING:
    from isthmus import _native

# A way that is this much dearer than the best, twice in a row, is followed no further if it can
# only get worse: a window's cost grows with every byte.
_HOPELESS = 4.0
_HOPELESS_IN_A_ROW = 2
_ONLY_GETS_WORSE = {Path.WINDOW, Path.WINDOW_THREADS}
# Copies of a point at least: two before the samples, and the fewest samples.
_FEWEST = 7
# Of the time that is left, what the next size of the grid may take at most.
_MOST_OF_THE_REST = 0.8


class Copies(Protocol):
    """What measures one point: `Session`, or a test's."""

    most_bytes: int
    check_s_per_byte: float

    def seconds(self, way: Way, size_bytes: int, *, point_s: float) -> float:
        """Measure one copy; Unavailable if that way can't."""

    def window_opening_seconds(self) -> float | None:
        """Measure what mapping a buffer costs; None without windows."""


class Measuring:
    """
    Points that are measured one by one, until the time is up.

    Attributes:
        curves: What was found.
        absences: Ways that can't here, and why.
    """

    def __init__(
        self,
        open_copies: Callable[[int], Copies],
        effort: Effort,
        clock: Callable[[], float],
    ) -> None:
        """Make ready; the time that `effort` allows runs from now on."""
        self._end = clock() + effort.budget_s
        self.curves: dict[Way, list[Point]] = {}
        self.absences: dict[Way, str] = {}
        self._copies = open_copies(effort.sizes[-1])
        self._effort = effort
        self._clock = clock
        self._hopeless: dict[Way, int] = {}

    def window_opening_seconds(self) -> float | None:
        """Measure what mapping a buffer costs; None without windows."""
        return self._copies.window_opening_seconds()

    def measure_grid(self) -> None:
        """Measure all ways size by size, so that time runs out for the longest copies."""
        ways = all_ways()
        for size in self._effort.sizes:
            ways = [way for way in ways if self._hopeless.get(way, 0) < _HOPELESS_IN_A_ROW]
            at_work = [way for way in ways if applies(way, size)]
            wall = sum(self._wall_seconds(way, size) for way in at_work)
            if size > self._copies.most_bytes or wall > _MOST_OF_THE_REST * self._left():
                return
            for way in at_work:
                self._measure(way, size)
            self._judge(size)

    def refine(self) -> None:
        """Measure more sizes where the cheapest way changes."""
        for _ in range(self._effort.rounds):
            for way, size in refinements(self.curves):
                if self._wall_seconds(way, size) > self._left():
                    return
                self._measure(way, size)

    def _measure(self, way: Way, size: int) -> None:
        try:
            seconds = self._copies.seconds(way, size, point_s=self._effort.point_s)
        except Unavailable as absence:
            # A way that could so far is only at its end.
            if way not in self.curves:
                self.absences[way] = absence.reason
            self._hopeless[way] = _HOPELESS_IN_A_ROW
            return
        insort(self.curves.setdefault(way, []), Point(bytes=size, seconds=seconds), key=_bytes_of)

    def _left(self) -> float:
        return self._end - self._clock()

    def _wall_seconds(self, way: Way, size: int) -> float:
        """Guess how long a point will take: no copy is slower for a byte than shorter ones."""
        points = [point for point in self.curves.get(way, ()) if point.bytes <= size]
        one = points[-1].seconds * size / points[-1].bytes if points else 0.0
        # Short copies are repeated until the point's time is up, or their noise is little.
        return max(self._effort.point_s, _FEWEST * one) + self._copies.check_s_per_byte * size

    def _judge(self, size: int) -> None:
        """Count how often in a row a way has been hopeless."""
        for way in [way for way in self.curves if way.path in _ONLY_GETS_WORSE]:
            costs = {
                other.path: points[-1].seconds
                for other, points in self.curves.items()
                if points[-1].bytes == size
                and (other.direction, other.host_memory) == (way.direction, way.host_memory)
            }
            if way.path in costs:
                hopeless = costs[way.path] > _HOPELESS * min(costs.values())
                self._hopeless[way] = self._hopeless.get(way, 0) + 1 if hopeless else 0


def measure_profile(
    identity: "_native.ProfileIdentity",
    open_copies: Callable[[int], Copies],
    effort: Effort,
    clock: Callable[[], float] = time.perf_counter,
) -> Profile:
    """
    Measure what copies cost on one device.

    Args:
        identity: Of the machine.
        open_copies: Makes ready for copies of as many bytes; counts as time spent.
        effort: How much work goes into it.
        clock: In seconds.

    Returns:
        The profile; nothing is stored.

    Raises:
        CorruptTransfer: Bytes were wrong. No figure counts then.
        DriverError: The device failed.
    """
    started = clock()
    measuring = Measuring(open_copies, effort, clock)
    opening_seconds = measuring.window_opening_seconds()
    measuring.measure_grid()
    measuring.refine()
    return Profile(
        schema_version=1,
        measurement=Measured(
            finished_at=datetime.now(UTC).replace(microsecond=0),
            seconds=clock() - started,
            quick=effort.quick,
            isthmus_version=isthmus.__version__,
        ),
        machine=machine_of(identity),
        window_opening_seconds=opening_seconds,
        costs=[Cost(**way.model_dump(), points=points) for way, points in measuring.curves.items()],
        not_measured=[
            NotMeasured(**way.model_dump(), reason=reason)
            for way, reason in measuring.absences.items()
        ],
    )


def machine_of(identity: "_native.ProfileIdentity") -> Machine:
    """Write down the machine that the native module sees."""
    return Machine(
        emulated=identity.emulated,
        gpu_uuid=identity.gpu_uuid,
        gpu_name=identity.gpu_name,
        link=identity.link,
        cuda_version=identity.cuda_version,
        driver_release=identity.driver_release or None,
        cpu_model=identity.cpu_model or None,
        num_cores=identity.num_cores,
    )


def _bytes_of(point: Point) -> int:
    return point.bytes
