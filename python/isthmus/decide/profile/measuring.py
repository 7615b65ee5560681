"""Measures a machine's profile within its time budget."""

import time
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from operator import itemgetter
from typing import TYPE_CHECKING, Protocol

from isthmus.decide.profile.costs import lower_of
from isthmus.decide.profile.memory import Lifetimes, MemoryFound, measure_memory
from isthmus.decide.profile.model import (
    Cost,
    CostPoint,
    Measured,
    NotMeasured,
    Path,
    Profile,
    StagingThreads,
    StagingTime,
    Timing,
    Way,
    machine_of,
)
from isthmus.decide.profile.pauses import measure_pauses
from isthmus.decide.profile.plan import (
    FIRST_COPIES,
    GROUPS,
    HOPELESS,
    Direction,
    Effort,
    Group,
    all_ways,
    applies,
    fewest_threads,
    group_of,
    refinements,
)
from isthmus.ground.sizes import format_size

if TYPE_CHECKING:
    from isthmus import _native

# A path that is hopeless so many times in a row is not measured further if it can only get worse: a
# window's cost grows with every byte.
_HOPELESS_IN_A_ROW = 2
_ONLY_GETS_WORSE = {Path.WINDOW, Path.WINDOW_THREADS}
# The number of bytes that are compared after all turns.
_COMPARED_IN_THE_END = 4 << 20
# The part of the remaining time that the next size of the grid may take.
_MAX_OF_THE_REST = 0.8
# The part of the remaining time that the search for the number of threads may take in a direction.
# A copy of 1 MiB predicts how long a copy takes; it takes some 30 times as long as the shortest
# ones. Shorter copies predict nothing.
_MAX_FOR_THREADS = 0.2
_PROBE_OVER_SHORTEST = 30
_NUMBERS_OF_THREADS = 9
_MORE_TURNS = 5.0
_PROBE_BYTES = 1 << 20
_MIN_STAGING_BYTES = 8 << 20
# Kinds of memory share about the time that all paths of a group have at a size.
_LIVES_A_POINT = 3


@dataclass(frozen=True, kw_only=True)
class Found:
    """
    The costs of copies of one size.

    Attributes:
        timings: By path, for those that can be used.
    """

    timings: Mapping[Way, Timing]
    absences: Mapping[Way, str] = field(default_factory=dict)

    @property
    def seconds(self) -> dict[Way, float]:
        """The medians."""
        return {way: timing.seconds for way, timing in self.timings.items()}


Watch = Callable[[str, float], None]
"""Is told what is measured next, and how many seconds are left."""


class Copies(Protocol):
    """Measures copies: `Session`, or a test's."""

    max_bytes: int
    check_s_per_byte: float

    @property
    def lifetimes(self) -> Lifetimes:
        """Give what measures the cost of host memory."""

    def times(self, ways: Sequence[Way], size_bytes: int, effort: Effort) -> Found:
        """Measure copies of one size by several paths of one group, in turns."""

    def times_after_pause(
        self, ways: Sequence[Way], size_bytes: int, effort: Effort
    ) -> Mapping[Way, Sequence[float]]:
        """Measure the same, each copy after a pause; without paths that can't be used."""

    def staging_times(self, direction: str, size_bytes: int, effort: Effort) -> dict[int, float]:
        """Measure staged copies by the number of threads; {} if there is no choice."""

    def stage_with(self, threads: StagingThreads) -> None:
        """Stage with this number of threads from now on."""

    def window_opening_seconds(self) -> float | None:
        """Measure the cost of mapping a buffer; None without windows."""


class Measuring:
    """
    Points that are measured one by one, until the time is used up.

    Attributes:
        staging_times: Staged copies by their number of threads.
    """

    def __init__(
        self,
        open_copies: Callable[[int], Copies],
        effort: Effort,
        clock: Callable[[], float],
        watch: Watch = lambda *_: None,
    ) -> None:
        """Prepare; the time that `effort` allows runs from now on."""
        self._end = clock() + effort.budget_s
        self._watch = watch
        watch("allocating", effort.budget_s)
        self.curves: dict[Way, list[CostPoint]] = {}
        self.after_pause: dict[Way, list[CostPoint]] = {}
        self.absences: dict[Way, str] = {}
        self.staging_times: list[StagingTime] = []
        self._copies = open_copies(effort.sizes[-1])
        self._effort = effort
        self._clock = clock
        self._hopeless: dict[Way, int] = {}

    def window_opening_seconds(self) -> float | None:
        """Measure the cost of mapping a buffer; None without windows."""
        return self._copies.window_opening_seconds()

    def choose_threads(self) -> StagingThreads:
        """Find the number of threads for staging and use it from now on, before the grid."""
        found = StagingThreads(h2d=self._threads("h2d"), d2h=self._threads("d2h"))
        self._copies.stage_with(found)
        return found

    def _threads(self, direction: Direction) -> int | None:
        rate = self._staging_rate(direction)
        size = min(self._effort.staging_bytes, self._copies.max_bytes)
        num_copies = _NUMBERS_OF_THREADS * (FIRST_COPIES + self._effort.min_turns)
        while rate is not None and size >= _MIN_STAGING_BYTES:
            wall = num_copies * size / rate + 2 * self._copies.check_s_per_byte * size
            if wall <= _MAX_FOR_THREADS * self._left():
                effort = replace(self._effort, point_s=_MORE_TURNS * self._effort.point_s)
                seconds = self._copies.staging_times(direction, size, effort)
                self.staging_times += [
                    StagingTime(direction=direction, bytes=size, threads=count, seconds=one)
                    for count, one in sorted(seconds.items())
                ]
                return fewest_threads(seconds, direction) if seconds else None
            size //= 2
        return None

    def measure_memory(self) -> MemoryFound:
        """Measure what host memory costs, in a share of the time that is left."""
        sizes = [size for size in self._effort.memory_sizes if size <= self._copies.max_bytes]
        shortest_s = max((points[0].seconds for points in self.curves.values()), default=0.0)
        point_s = self._effort.point_s / _LIVES_A_POINT
        return measure_memory(
            self._copies.lifetimes, sizes, point_s, shortest_s, self._left, self._watch
        )

    def _staging_rate(self, direction: Direction) -> float | None:
        """Give a staged copy's bytes per second; None if it can't be made, or takes too long."""
        way = Way(path=Path.STAGED, direction=direction, host_memory="pageable")
        by_driver = way.model_copy(update={"path": Path.DRIVER})
        if not self.curves.get(by_driver):
            return None
        if FIRST_COPIES * self._probe_seconds(by_driver) > _MAX_FOR_THREADS * self._left():
            return None
        size = min(_PROBE_BYTES, self._copies.max_bytes)
        once = replace(self._effort, point_s=0, min_turns=1, max_turns=1)
        found = self._copies.times([way], size, once).seconds
        return size / found[way] if way in found else None

    def measure_grid(self, sizes: Sequence[int]) -> None:
        """Measure all paths size by size, so that only the longest copies may be left out."""
        for size in sizes:
            wall = sum(self._wall_seconds(group, size) for group in GROUPS)
            if size > self._copies.max_bytes or wall > _MAX_OF_THE_REST * self._left():
                return
            for group in GROUPS:
                self._measure(group, size)

    def measure_rates(self) -> None:
        """
        Measure copies that show the paths' rates, if the time was over before them, in as much time
        once more at most: by short copies alone a long one would seem to take as long.
        """
        effort = self._effort
        size = min(effort.bytes_that_show_a_rate, self._copies.max_bytes)
        most_s = effort.budget_s / len(GROUPS) / (FIRST_COPIES + effort.min_turns)
        for group in GROUPS:
            if not self._sizes(group):
                self._measure(group, effort.sizes[0])
            copies_s = sum(self._most_seconds(way, size) for way in self._ways(group, size))
            if max(self._sizes(group), default=size) < size and copies_s <= most_s:
                self._measure(group, size)

    def _probe_seconds(self, way: Way) -> float:
        """Predict a copy of 1 MiB by the shortest: by its bytes it would seem to take longer."""
        points = self.curves.get(way)
        return _PROBE_OVER_SHORTEST * points[0].seconds if points else 0.0

    def _most_seconds(self, way: Way, size: int) -> float:
        """Predict a copy of 1 MiB: by the shortest or the longest, since one may be disturbed."""
        return min(self._probe_seconds(way), self._guess(way, size))

    def refine(self) -> None:
        """Measure more sizes where the cheapest path changes."""
        for _ in range(self._effort.rounds):
            for group, size in refinements(self.curves):
                if self._wall_seconds(group, size) > self._left():
                    return
                self._measure(group, size)

    def measure_pauses(self) -> None:
        """Measure copies after a pause, where copies without one were measured."""

        def guesses(group: Group, size: int) -> dict[Way, float]:
            return {way: self._guess(way, size) for way in self._ways(group, size)}

        times = self._copies.times_after_pause
        self.after_pause = measure_pauses(times, guesses, self._effort, self._left, self._watch)

    def measure_again(self) -> None:
        """
        Measure every point again, short copies first, while time is left; the lowest time counts,
        because other programs may slow a few sizes down for a while, in all turns.
        """
        for _ in range(self._effort.passes):
            points = [(size, group) for group in GROUPS for size in self._sizes(group)]
            for size, group in sorted(points, key=itemgetter(0)):
                if self._wall_seconds(group, size) <= self._left():
                    self._measure(group, size)

    def _sizes(self, group: Group) -> list[int]:
        measured = [points for way, points in self.curves.items() if group_of(way) == group]
        return sorted({point.bytes for points in measured for point in points})

    def _ways(self, group: Group, size: int) -> list[Way]:
        return [
            way
            for way in all_ways()
            if group_of(way) == group and applies(way, size) and self._may_win(way, size)
        ]

    def _may_win(self, way: Way, size: int) -> bool:
        """Whether a path that was given up is still measured: only within its measured sizes."""
        if self._hopeless.get(way, 0) < _HOPELESS_IN_A_ROW:
            return True
        return way in self.curves and size < self.curves[way][-1].bytes

    def _measure(self, group: Group, size: int) -> None:
        what = f"{group.direction.upper()} {group.host_memory} {format_size(size)}"
        self._watch(what, self._left())
        found = self._copies.times(self._ways(group, size), size, self._effort)
        for way, reason in found.absences.items():
            # A path that worked so far is only at its largest size.
            if way not in self.curves:
                self.absences[way] = reason
            self._hopeless[way] = _HOPELESS_IN_A_ROW
        for way, timing in found.timings.items():
            points = self.curves.setdefault(way, [])
            before = [point for point in points if point.bytes == size]
            points[:] = [point for point in points if point.bytes != size]
            point = lower_of(CostPoint(bytes=size, **timing.model_dump()), before)
            insort(points, point, key=_bytes_of)
            if way.path in _ONLY_GETS_WORSE and points[-1] is point:
                hopeless = timing.seconds > HOPELESS * min(found.seconds.values())
                self._hopeless[way] = self._hopeless.get(way, 0) + 1 if hopeless else 0

    def _left(self) -> float:
        return self._end - self._clock()

    def _wall_seconds(self, group: Group, size: int) -> float:
        """Estimate how long copies will take: no slower per byte than shorter ones."""
        ways = self._ways(group, size)
        copies = sorted(self._guess(way, size) for way in ways)
        in_turns = sum(one for one in copies if one <= HOPELESS * copies[0])
        return (
            FIRST_COPIES * sum(copies)
            + max(self._effort.point_s, self._effort.min_turns * in_turns)
            + self._copies.check_s_per_byte * (size * len(ways) + min(size, _COMPARED_IN_THE_END))
        )

    def _guess(self, way: Way, size: int) -> float:
        points = [point for point in self.curves.get(way, ()) if point.bytes <= size]
        return points[-1].seconds * size / points[-1].bytes if points else 0.0


def measure_profile(
    identity: "_native.ProfileIdentity",
    open_copies: Callable[[int], Copies],
    effort: Effort,
    clock: Callable[[], float] = time.perf_counter,
    watch: Watch = lambda *_: None,
) -> Profile:
    """
    Measure what copies cost on one device; `open_copies` prepares copies of up to so many bytes,
    which counts as time spent. CorruptTransfer, if bytes were wrong: no figure counts then.
    """
    started = clock()
    measuring = Measuring(open_copies, effort, clock, watch)
    opening_seconds = measuring.window_opening_seconds()
    measuring.measure_grid(effort.sizes[:1])
    threads = measuring.choose_threads()
    memory = measuring.measure_memory()
    measuring.measure_grid(effort.sizes[1:])
    measuring.measure_rates()
    measuring.refine()
    if not identity.emulated:
        # Modelled copies take the same after a pause.
        measuring.measure_pauses()
    measuring.measure_again()
    return Profile(
        schema_version=2,
        measurement=Measured(
            finished_at=datetime.now(UTC).replace(microsecond=0),
            seconds=clock() - started,
            quick=effort.quick,
            isthmus_version=version("isthmus"),
        ),
        machine=machine_of(identity),
        window_opening_seconds=opening_seconds,
        staging_threads=threads,
        costs=[
            Cost(**way.model_dump(), points=points, after_pause=measuring.after_pause.get(way, []))
            for way, points in measuring.curves.items()
        ],
        not_measured=[
            NotMeasured(**way.model_dump(), reason=reason)
            for way, reason in measuring.absences.items()
        ],
        memory=memory.costs,
        new_memory_downloads=memory.new_memory_downloads,
        staging_times=measuring.staging_times,
    )


def _bytes_of(point: CostPoint) -> int:
    return point.bytes
