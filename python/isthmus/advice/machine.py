"""A profile's curves, as advice uses them."""

from collections.abc import Sequence

from isthmus.advice.interval import Curve, Interval
from isthmus.errors import UsageError
from isthmus.profile.model import MemoryKind, Path, Profile


class MachineCosts:
    """
    What copies and host memory cost on one machine.

    Attributes:
        profile: The profile.
        min_bytes: The smallest size at which copies were measured.
        max_bytes: The largest one.
    """

    def __init__(self, profile: Profile) -> None:
        """
        Take a profile.

        Raises:
            UsageError: It lacks the costs of copies, or of host memory.
        """
        if profile.memory_cost(MemoryKind.PAGEABLE) is None:
            raise UsageError(
                "the profile has no costs of host memory", hint="run `isthmus profile` again"
            )
        if not profile.costs:
            raise UsageError("the profile has no costs of copies", hint="run `isthmus profile`")
        self.profile = profile
        self._copies: dict[tuple[str, str, str], Curve] = {
            (cost.path, cost.direction, cost.host_memory): Curve({p.bytes: p for p in cost.points})
            for cost in profile.costs
        }
        self._allocate = {
            cost.memory: Curve({point.bytes: point.allocate for point in cost.points})
            for cost in profile.memory
        }
        self._free = {
            cost.memory: Curve({point.bytes: point.free for point in cost.points})
            for cost in profile.memory
        }
        self._new_downloads: dict[Path, Curve] = {
            one.path: Curve({point.bytes: point for point in one.points})
            for one in profile.new_memory_downloads
        }
        self.min_bytes = min(curve.first_bytes for curve in self._copies.values())
        self.max_bytes = max(curve.last_bytes for curve in self._copies.values())

    @property
    def cores(self) -> float:
        """The cores with which it was measured."""
        return self.profile.machine.num_cores

    def memories(self) -> Sequence[MemoryKind]:
        """List the kinds of memory that were measured."""
        return list(self._allocate)

    def copy(self, path: Path, direction: str, host: str, size_bytes: int) -> Interval | None:
        """Predict a copy; None if the path wasn't measured, or not at such small sizes."""
        curve = self._copies.get((path, direction, host))
        if curve is None or size_bytes < curve.first_bytes:
            # Every machine has the driver's copies, and they cost the same below the first size.
            return curve.at(size_bytes) if curve is not None and path == Path.DRIVER else None
        return curve.at(size_bytes)

    def measured_from(self, path: Path, direction: str, host: str) -> int | None:
        """Give the smallest size at which a path was measured; None if it wasn't."""
        curve = self._copies.get((path, direction, host))
        return curve.first_bytes if curve else None

    def measured_to(self, path: Path, direction: str, host: str) -> int:
        """Give the largest size at which a path was measured; 0 if it wasn't."""
        curve = self._copies.get((path, direction, host))
        return curve.last_bytes if curve else 0

    def allocate(self, memory: MemoryKind, size_bytes: int) -> Interval:
        """Predict an allocation with all its pages; a pool's block takes the same at every size."""
        return self._at(self._allocate[memory], memory, size_bytes)

    def free(self, memory: MemoryKind, size_bytes: int) -> Interval:
        """Predict freeing it."""
        return self._at(self._free[memory], memory, size_bytes)

    @staticmethod
    def _at(curve: Curve, memory: MemoryKind, size_bytes: int) -> Interval:
        if memory == MemoryKind.POOL:
            size_bytes = min(size_bytes, curve.last_bytes)
        return curve.at(size_bytes)

    def allocated_to(self, memory: MemoryKind) -> int:
        """Give the largest size at which a kind of memory was measured."""
        return self._allocate[memory].last_bytes

    def new_download(self, path: Path, size_bytes: int) -> Interval | None:
        """Predict allocation, download and freeing of new memory; None: not measured so small."""
        curve = self._new_downloads.get(path)
        return curve.at(size_bytes) if curve and size_bytes >= curve.first_bytes else None

    def staging_slowdown(self, direction: str, cores: float | None) -> float | None:
        """
        Give how much longer staged copies take with fewer threads; None if that wasn't measured.

        Args:
            direction: "h2d" or "d2h".
            cores: The cores that copies may use, with the caller's; None: all.
        """
        wanted = getattr(self.profile.staging_threads, direction)
        if cores is None or wanted is None or cores >= min(wanted, self.cores):
            return 1.0
        times = {
            one.threads: one.seconds
            for one in self.profile.staging_times
            if one.direction == direction
        }
        able = [threads for threads in times if threads <= cores]
        if not able or wanted not in times:
            return None
        return max(1.0, min(times[threads] for threads in able) / times[wanted])
