"""What is measured for a profile: which ways, at which sizes, for how long."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeVar, get_args

from isthmus.profile.model import Path, Point, Way
from isthmus.sizes import powers_of_two

Key = TypeVar("Key")
HostMemory = Literal["pageable", "pinned"]
_KIB, _MIB = 1 << 10, 1 << 20

# The powers of two above 32 MiB cost more time than they tell.
FULL_SIZES = (4, 64, 256, *powers_of_two(_KIB, 32 * _MIB), 64 * _MIB, 256 * _MIB)
QUICK_SIZES = (4, *(_KIB << exponent for exponent in range(0, 17, 2)))

# Threads, slots and pinning cost tens of microseconds and more, whatever the size
# (benchmarks/windows; cpp/src/transfer/profile_defaults.cpp): below, nothing is to be found.
_LEAST_BYTES: Mapping[Path, int] = {
    Path.WINDOW_THREADS: _KIB,
    Path.STAGED: 64 * _KIB,
    Path.REGISTERED: 256 * _KIB,
}
# Pinned memory needs neither staging nor pinning.
_PAGEABLE_ONLY = {Path.STAGED, Path.REGISTERED}
# A way is not cheaper than another by less: measured again, it may be the other way round.
_NOISE = 1.1
# Where the cheapest way changes between two sizes, they are brought this close together.
_CLOSE_ENOUGH = 1.2
_ALIGNMENT = 64


@dataclass(frozen=True, kw_only=True)
class Effort:
    """
    How much work goes into a profile.

    Attributes:
        sizes: In bytes, ascending.
        budget_s: For everything, from the first call of the driver on.
        point_s: For the samples of one point.
        rounds: How often the sizes at crossovers are halved.
        quick: Whether it is the lesser effort.
    """

    sizes: Sequence[int]
    budget_s: float
    point_s: float
    rounds: int
    quick: bool = False

    def up_to(self, most_bytes: int) -> "Effort":
        """Leave out larger sizes."""
        return replace(self, sizes=[size for size in self.sizes if size <= most_bytes])


# Python's own start, and the end, are not in the budgets: 10 s and 2 s are for all together.
FULL = Effort(sizes=FULL_SIZES, budget_s=8.5, point_s=0.012, rounds=3)
QUICK = Effort(sizes=QUICK_SIZES, budget_s=1.4, point_s=0.002, rounds=1, quick=True)
# Emulated links are slow, and straight lines: nothing is to be learned from longer copies.
MOST_EMULATED_BYTES = 16 * _MIB


def all_ways() -> list[Way]:
    """List the ways that a profile has costs of, the driver's first."""
    order = (Path.DRIVER, Path.WINDOW, Path.WINDOW_THREADS, Path.STAGED, Path.REGISTERED)
    return [
        Way(path=path, direction=direction, host_memory=memory)
        for path in order
        for memory in get_args(HostMemory)
        for direction in ("h2d", "d2h")
        if memory == "pageable" or path not in _PAGEABLE_ONLY
    ]


def applies(way: Way, size_bytes: int) -> bool:
    """Say whether a way is worth measuring at a size."""
    return size_bytes >= _LEAST_BYTES.get(way.path, 0)


def refinements(curves: Mapping[Way, Sequence[Point]]) -> list[tuple[Way, int]]:
    """
    Find where to measure next: between two sizes whose cheapest ways differ, these two ways.

    Args:
        curves: What was measured, each by ascending size.

    Returns:
        Ways and sizes that have not been measured; none if every crossover is known closely.
    """
    found: list[tuple[Way, int]] = []
    for memory in get_args(HostMemory):
        for direction in ("h2d", "d2h"):
            group = {
                way: {point.bytes: point.seconds for point in points}
                for way, points in curves.items()
                if (way.host_memory, way.direction) == (memory, direction)
            }
            found += _between_winners(group)
    return found


def _between_winners(group: Mapping[Way, Mapping[int, float]]) -> list[tuple[Way, int]]:
    winners: list[tuple[int, Way]] = []
    for size in sorted({size for costs in group.values() for size in costs}):
        costs = {way: group[way][size] for way in group if size in group[way]}
        winners.append((size, cheapest(costs, winners[-1][1] if winners else None)))
    found = []
    for (first, one), (last, other) in pairwise(winners):
        middle = _middle(first, last)
        if one != other and last > first * _CLOSE_ENOUGH and first < middle < last:
            found += [(way, middle) for way in (one, other) if applies(way, middle)]
    return found


def cheapest(costs: Mapping[Key, float], before: Key | None) -> Key:
    """
    Tell which costs least.

    Args:
        costs: Seconds, at one size.
        before: What was the cheapest at the size before: still is, if it's so but for noise.
    """
    best = min(costs, key=lambda key: costs[key])
    if before is not None and before in costs and costs[before] <= costs[best] * _NOISE:
        return before
    return best


def _middle(first: int, last: int) -> int:
    """Halve on a logarithmic scale, in whole cache lines."""
    return max(1, round(math.sqrt(first * last) / _ALIGNMENT)) * _ALIGNMENT
