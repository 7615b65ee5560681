"""What is measured for a profile: which paths, at which sizes, for how long."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from isthmus.decide.profile.model import CostPoint, Path, Way
from isthmus.ground.sizes import powers_of_two

Direction = Literal["h2d", "d2h"]
HostMemory = Literal["pageable", "pinned"]
_KIB, _MIB = 1 << 10, 1 << 20

# Also half-way between powers of two, where paths cross: windows, their threads, the driver and
# staging do between 4 KiB and 256 KiB, and once more between 1 and 16 MiB (benchmarks/transfer).
_CROSSINGS = (*powers_of_two(4 * _KIB, 128 * _KIB), *powers_of_two(_MIB, 8 * _MIB))
_BETWEEN = tuple(size + size // 2 for size in _CROSSINGS)
# The powers of two above 32 MiB take more time than they are worth.
FULL_SIZES = tuple(
    sorted((4, 64, 256, *powers_of_two(_KIB, 32 * _MIB), *_BETWEEN, 64 * _MIB, 256 * _MIB))
)
QUICK_SIZES = tuple(
    sorted((4, 8 * _KIB, 32 * _KIB, *(_KIB << exponent for exponent in range(0, 18, 2))))
)

# Threads, slots and pinning cost tens of microseconds and more, whatever the size: for smaller
# copies they are never faster (benchmarks/windows; cpp/src/transfer/profile/profile_defaults.cpp).
_MIN_BYTES: Mapping[Path, int] = {
    Path.WINDOW_THREADS: _KIB,
    Path.STAGED: 16 * _KIB,
    Path.REGISTERED: 256 * _KIB,
}
# Copies open no larger windows: kMaxWindowBytes in cpp/src/transfer/plan/device_paths.cpp.
_MAX_BYTES: Mapping[Path, int] = {Path.WINDOW: 16 * _MIB, Path.WINDOW_THREADS: 16 * _MIB}
# Pinned memory needs neither staging nor pinning.
_PAGEABLE_ONLY = {Path.STAGED, Path.REGISTERED}
# Pinning is used only by name: so many sizes are enough to predict its cost.
_SIZES_OF_PINNING = {256 * _KIB, _MIB, 4 * _MIB, 16 * _MIB}

# How many times cheaper than the driver's copy a path must be, as in the native core: see
# margin_of() in cpp/src/transfer/profile/profile.cpp.
MARGINS: Mapping[Path, float] = {
    Path.WINDOW: 1.3,
    Path.WINDOW_THREADS: 1.3,
    Path.DRIVER: 1.0,
    Path.STAGED: 1.3,
}
# Several threads read through a window for at most this many times the driver's CPU time:
# kMaxCpuTimes in cpp/src/transfer/plan/device_paths.cpp.
_MAX_CPU_TIMES = 2.0
# A path that takes so many times as long as the best one isn't worth measuring.
HOPELESS = 4.0
# Copies of each path at a size in addition to its turns: one whose bytes are compared, and the
# first one that is timed.
FIRST_COPIES = 2
# If the cheapest path changes between two sizes, they are brought this close together.
_CLOSE_ENOUGH = 1.2
_ALIGNMENT = 64
# Writing the profile and ending the program take about this many seconds.
_END_S = 0.2
# More threads are used for a gain above this. Those of downloads wait for the link for most of the
# time, and take CPU time for it: benchmarks/rhythms/h100/threads.json.
_THREADS_GAIN: Mapping[Direction, float] = {"h2d": 1.02, "d2h": 1.05}


class Group(NamedTuple):
    """Copies that differ only in their path, and are measured in turns."""

    host_memory: HostMemory
    direction: Direction


GROUPS = tuple(
    Group(memory, direction) for memory in get_args(HostMemory) for direction in get_args(Direction)
)


def group_of(way: Way) -> Group:
    """Say with which others a path is measured."""
    return Group(way.host_memory, way.direction)


@dataclass(frozen=True, kw_only=True)
class Effort:
    """
    How much is measured for a profile.

    Attributes:
        sizes: In bytes, ascending.
        budget_s: For everything, from the first driver call on.
        point_s: For all turns of the paths at one size.
        min_turns: For each path at each size.
        max_turns: The same, if they are short.
        rounds: How often the intervals at crossovers are halved.
        passes: How often all points are measured again, as far as time allows.
        staging_bytes: The size of the copies by which the number of staging threads is found.
        memory_sizes: The buffers whose allocation is measured, in bytes, ascending.
        pause_sizes: The copies that are measured after pauses, in bytes, the most useful first.
        pause_visits: How many times each of these sizes is visited.
        pause_turns: For each path at each visit.
        pause_s: How long each pause is.
        quick: Whether it is the lower effort.
    """

    sizes: Sequence[int]
    budget_s: float
    point_s: float
    rounds: int
    passes: int = 0
    min_turns: int = 5
    max_turns: int = 21
    staging_bytes: int = 64 * _MIB
    memory_sizes: Sequence[int] = ()
    pause_sizes: Sequence[int] = ()
    pause_visits: int = 1
    pause_turns: int = 2
    pause_s: float = 3e-3
    quick: bool = False

    @property
    def promised_s(self) -> float:
        """What the command takes at most, with the start and the end of Python."""
        return 2.0 if self.quick else 10.0

    @property
    def bytes_that_show_a_rate(self) -> int:
        """The size from which copies don't mostly wait for threads, slots and commands."""
        return min((size for size in self.sizes if size >= _MIB), default=self.sizes[-1])

    def after(self, spent_s: float) -> "Effort":
        """Take a long start of the program off the budget, but at most half of the budget."""
        left_s = self.promised_s - spent_s - _END_S
        return replace(self, budget_s=max(0.5 * self.budget_s, min(self.budget_s, left_s)))

    def up_to(self, max_bytes: int) -> "Effort":
        """Leave out larger sizes."""
        return replace(
            self,
            sizes=[size for size in self.sizes if size <= max_bytes],
            staging_bytes=min(self.staging_bytes, max_bytes),
            memory_sizes=[size for size in self.memory_sizes if size <= max_bytes],
            pause_sizes=[size for size in self.pause_sizes if size <= max_bytes],
        )


# Allocating has steps: drivers keep pinned memory up to 1 or 2 MiB, the C library keeps blocks
# below 32 MiB.
_MEMORY_SIZES = (
    *(4 * _KIB, 64 * _KIB, _MIB, 2 * _MIB, 4 * _MIB),
    *(16 * _MIB, 24 * _MIB, 32 * _MIB, 64 * _MIB),
)
# What a pause costs changes little with the size: threads wake, and caches become warm again.
_PAUSE_SIZES = (64 * _KIB, _MIB, 16 * _KIB, 256 * _KIB)
# Python's own start and end are not in the budgets: see `promised_s`.
FULL = Effort(
    sizes=FULL_SIZES,
    budget_s=8.5,
    point_s=0.027,
    rounds=3,
    passes=3,
    memory_sizes=_MEMORY_SIZES,
    pause_sizes=_PAUSE_SIZES,
    pause_visits=2,
)
QUICK = Effort(
    sizes=QUICK_SIZES,
    budget_s=1.4,
    point_s=0.005,
    rounds=1,
    min_turns=3,
    max_turns=9,
    staging_bytes=32 * _MIB,
    memory_sizes=_MEMORY_SIZES,
    pause_sizes=_PAUSE_SIZES[:2],
    quick=True,
)
# Emulated links are slow, and straight lines: longer copies show nothing new.
MAX_EMULATED_BYTES = 16 * _MIB


def all_ways() -> list[Way]:
    """List the paths whose costs a profile has, the driver's first."""
    order = (Path.DRIVER, Path.WINDOW, Path.WINDOW_THREADS, Path.STAGED, Path.REGISTERED)
    return [
        Way(path=path, direction=group.direction, host_memory=group.host_memory)
        for path in order
        for group in GROUPS
        if group.host_memory == "pageable" or path not in _PAGEABLE_ONLY
    ]


def applies(way: Way, size_bytes: int) -> bool:
    """Whether a path is worth measuring at a size."""
    if way.path == Path.REGISTERED and size_bytes not in _SIZES_OF_PINNING:
        return False
    least, most = _MIN_BYTES.get(way.path, 0), _MAX_BYTES.get(way.path, size_bytes)
    return least <= size_bytes <= most


def refinements(curves: Mapping[Way, Sequence[CostPoint]]) -> list[tuple[Group, int]]:
    """
    Find where to measure next: between two sizes whose cheapest paths differ; nowhere if every
    crossover is known closely.
    """
    found: list[tuple[Group, int]] = []
    for group in GROUPS:
        costs = {
            way.path: {point.bytes: point.seconds for point in points}
            for way, points in curves.items()
            if group_of(way) == group
        }
        found += [(group, size) for size in _between_winners(costs, group.direction)]
    return found


def _between_winners(costs: Mapping[Path, Mapping[int, float]], direction: Direction) -> list[int]:
    winners: list[tuple[int, Path]] = []
    for size in sorted({size for points in costs.values() for size in points}):
        here = {path: points[size] for path, points in costs.items() if size in points}
        if path := cheapest(here, direction):
            winners.append((size, path))
    return [
        _middle(first, last)
        for (first, one), (last, other) in pairwise(winners)
        if one != other and last > first * _CLOSE_ENOUGH and first < _middle(first, last) < last
    ]


def takes_much_cpu(direction: str, costs: Mapping[Path, float]) -> bool:
    """
    Say whether a window's threads take too much CPU time, as the native core does; costs are
    seconds at one size, and what one thread takes is the CPU time of several, too.
    """
    if direction != "d2h" or not {Path.WINDOW, Path.DRIVER} <= costs.keys():
        return False
    return costs[Path.WINDOW] > _MAX_CPU_TIMES * costs[Path.DRIVER]


def cheapest(costs: Mapping[Path, float], direction: str = "h2d") -> Path | None:
    """
    Give the path that copies choose by seconds at one size, as the native core does; None if there
    is no path.
    """
    most = costs.get(Path.DRIVER, math.inf)
    counted = {
        path: costs[path]
        for path, margin in MARGINS.items()
        if path in costs and costs[path] * margin <= most
    }
    if Path.WINDOW_THREADS in counted:
        counted[Path.WINDOW_THREADS] *= MARGINS[Path.WINDOW_THREADS]
    if takes_much_cpu(direction, costs):
        counted.pop(Path.WINDOW_THREADS, None)
    return min(counted, key=lambda path: counted[path]) if counted else None


def fewest_threads(seconds: Mapping[int, float], direction: Direction) -> int:
    """
    Choose how many threads to stage with, by the seconds of a copy with each number: no more than
    are worthwhile.
    """
    enough = min(seconds.values()) * _THREADS_GAIN[direction]
    return min(count for count, one in seconds.items() if one <= enough)


def _middle(first: int, last: int) -> int:
    """Halve on a logarithmic scale, in whole cache lines."""
    return max(1, round(math.sqrt(first * last) / _ALIGNMENT)) * _ALIGNMENT
