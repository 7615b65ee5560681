"""Measures what host memory costs within a share of a profile's time: advice needs it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from isthmus.decide.profile.model import (
    CostPoint,
    MemoryCost,
    MemoryKind,
    MemoryPoint,
    NewMemoryDownload,
    Path,
    Timing,
)
from isthmus.ground.sizes import format_size

# The part of a profile's time that memory may take.
_MAX_SHARE = 0.2
# Below, a buffer's cost doesn't depend on its size.
_PAGES_COUNT_FROM = 1 << 20
# Lifetimes of one kind at a size: three loops of at least three.
_LIVES = 9
# An empty pool pins a region of at least 64 MiB, which takes long: smaller blocks cost the same.
_NEAR_A_REGION = 16 << 20
# The first size is guessed from copies: an allocation takes no longer than so many.
_COPIES_A_LIFE = 2
_DOWNLOADS: tuple[Literal[Path.DRIVER, Path.STAGED], ...] = (Path.DRIVER, Path.STAGED)


class Lifetimes(Protocol):
    """Measures host memory from its allocation until it is freed."""

    def memory_point(
        self, memory: MemoryKind, size_bytes: int, max_seconds: float
    ) -> MemoryPoint | None:
        """Measure a kind of memory; None if it isn't available here."""

    def new_memory_download(self, path: Path, size_bytes: int, max_seconds: float) -> Timing | None:
        """Measure a download into new memory; None if that path isn't possible here."""


@dataclass(frozen=True, kw_only=True)
class MemoryFound:
    """
    What host memory costs.

    Attributes:
        new_memory_downloads: Allocation, download and freeing together, by path.
    """

    costs: list[MemoryCost] = field(default_factory=list)
    new_memory_downloads: list[NewMemoryDownload] = field(default_factory=list)


class _Measuring:
    """Points that are measured size by size."""

    def __init__(self, lifetimes: Lifetimes, point_s: float, shortest_copy_s: float) -> None:
        self._lifetimes, self._point_s, self._shortest_copy_s = lifetimes, point_s, shortest_copy_s
        self.points: dict[MemoryKind, list[MemoryPoint]] = {}
        self.downloads: dict[Literal[Path.DRIVER, Path.STAGED], list[CostPoint]] = {}

    def measure(self, size_bytes: int) -> None:
        for memory in self._kinds(size_bytes):
            point = self._lifetimes.memory_point(memory, size_bytes, self._point_s)
            if point is not None:
                self.points.setdefault(memory, []).append(point)
        for path in _DOWNLOADS:
            timing = self._lifetimes.new_memory_download(path, size_bytes, self._point_s)
            if timing is not None:
                download = CostPoint(bytes=size_bytes, **timing.model_dump())
                self.downloads.setdefault(path, []).append(download)

    def _kinds(self, size_bytes: int) -> list[MemoryKind]:
        """Leave out new pinned memory between the first size and those near a region's."""
        known = MemoryKind.NEW_PINNED in self.points and size_bytes < _NEAR_A_REGION
        return [kind for kind in MemoryKind if kind != MemoryKind.NEW_PINNED or not known]

    def guess_s(self, size_bytes: int) -> float:
        """Guess how long a size will take, by the last one."""
        wanted = self._kinds(size_bytes)
        last = [
            points[-1].allocate.seconds + points[-1].free.seconds
            for kind, points in self.points.items()
            if kind in wanted
        ]
        last += [points[-1].seconds for points in self.downloads.values()]
        if not last:
            return len(MemoryKind) * max(
                self._point_s, _LIVES * _COPIES_A_LIFE * self._shortest_copy_s
            )
        last_bytes = max(p[-1].bytes for p in self.points.values())
        longer = max(1.0, size_bytes / max(last_bytes, _PAGES_COUNT_FROM))
        return sum(max(self._point_s, _LIVES * longer * one) for one in last)


def measure_memory(
    lifetimes: Lifetimes,
    sizes: Sequence[int],
    point_s: float,
    shortest_copy_s: float,
    left_s: Callable[[], float],
    watch: Callable[[str, float], None],
) -> MemoryFound:
    """
    Measure all kinds of memory size by size (bytes, ascending), so that only the largest may be
    left out; `point_s` is for one kind at one size, and `shortest_copy_s` for a few bytes.
    """
    measuring = _Measuring(lifetimes, point_s, shortest_copy_s)
    end_s = left_s() * (1 - _MAX_SHARE)
    for size in sizes:
        if left_s() - measuring.guess_s(size) < end_s:
            break
        watch(f"memory of {format_size(size)}", left_s())
        measuring.measure(size)
    costs = [MemoryCost(memory=memory, points=found) for memory, found in measuring.points.items()]
    downloads = [
        NewMemoryDownload(path=path, points=found) for path, found in measuring.downloads.items()
    ]
    return MemoryFound(costs=costs, new_memory_downloads=downloads)
