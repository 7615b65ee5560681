"""
A profile's curves, as advice uses them, and the profiles that come with Isthmus, for machines
that one doesn't have.
"""

import pathlib
from collections.abc import Sequence
from importlib import resources

from isthmus.decide.advice.interval import Curve, Interval
from isthmus.decide.profile.model import MemoryKind, Path, Profile
from isthmus.decide.profile.store import load_profile
from isthmus.errors import Unavailable, UsageError
from isthmus.ground.life import Life
from isthmus.ground.spelling import did_you_mean, shortened


class MachineCosts:
    """What copies and host memory cost on one machine."""

    def __init__(self, profile: Profile, cores: float | None = None) -> None:
        """Take a profile, and the cores that are asked about."""
        if profile.memory_cost(MemoryKind.PAGEABLE) is None:
            raise UsageError(
                "the profile has no costs of host memory", hint="run `isthmus profile` again"
            )
        if not profile.costs:
            raise UsageError("the profile has no costs of copies", hint="run `isthmus profile`")
        if cores is not None and cores > profile.machine.num_cores:
            raise UsageError(
                f"advice for {cores:g} cores, of which the machine has "
                f"{profile.machine.num_cores:g}",
                hint="leave the cores out for all",
            )
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
        # Below the smallest size of all, each path costs the same; the driver's can be anywhere.
        size_bytes = max(size_bytes, self.min_bytes)
        if curve is None or (size_bytes < curve.first_bytes and path != Path.DRIVER):
            return None
        return curve.at(size_bytes)

    def measured_from(self, path: Path, direction: str, host: str) -> int | None:
        """Give the smallest size at which a path was measured; None if it wasn't."""
        curve = self._copies.get((path, direction, host))
        return curve.first_bytes if curve else None

    def measured_to(self, path: Path, direction: str, host: str) -> int:
        """Give the largest size at which a path was measured; 0 if it wasn't."""
        curve = self._copies.get((path, direction, host))
        return curve.last_bytes if curve else 0

    def allocate(self, memory: MemoryKind, size_bytes: int, life: Life) -> Interval:
        """Predict an allocation with all its pages; a pool's block takes the same at every size."""
        return self._at(self._allocate[memory], memory, size_bytes, life)

    def free(self, memory: MemoryKind, size_bytes: int, life: Life) -> Interval:
        """Predict freeing it."""
        return self._at(self._free[memory], memory, size_bytes, life)

    @staticmethod
    def _at(curve: Curve, memory: MemoryKind, size_bytes: int, life: Life) -> Interval:
        if memory == MemoryKind.POOL:
            size_bytes = min(size_bytes, curve.last_bytes)
        # Only these two are kept by malloc and by the driver.
        kept = memory in {MemoryKind.PAGEABLE, MemoryKind.PINNED}
        return (
            curve.new_pages(size_bytes)
            if kept and life == Life.FIRST_TIME
            else (curve.at(size_bytes))
        )

    def is_one_point(self, memory: MemoryKind) -> bool:
        """Whether a kind of memory was measured at one size alone, so that it has no slope."""
        curve = self._allocate[memory]
        return curve.first_bytes == curve.last_bytes

    def allocated_to(self, memory: MemoryKind) -> int:
        """Give the largest size at which a kind of memory was measured."""
        return self._allocate[memory].last_bytes

    def new_download(self, path: Path, size_bytes: int, life: Life) -> Interval | None:
        """Predict allocation, download and freeing of new memory; None: not measured so small."""
        curve = self._new_downloads.get(path)
        if curve is None or size_bytes < curve.first_bytes:
            return None
        return curve.new_pages(size_bytes) if life == Life.FIRST_TIME else curve.at(size_bytes)

    def staging_slowdown(self, direction: str, cores: float | None) -> float | None:
        """Give how much longer staged copies take with fewer threads; None if not measured."""
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


_FOLDER = resources.files("isthmus.decide.advice") / "machines"
_SUFFIX = ".json"


def machine_names() -> list[str]:
    """List the machines that come with Isthmus."""
    names = (entry.name for entry in _FOLDER.iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX))


def machine_profile(name: str) -> Profile:
    """Read the profile of a machine that comes with Isthmus, or that at a path."""
    if name in machine_names():
        return Profile.model_validate_json((_FOLDER / f"{name}{_SUFFIX}").read_bytes())
    path = pathlib.Path(name)
    if not (path.suffix or path.name != name):
        raise UsageError(
            f"there is no machine '{shortened(name)}'",
            hint=f"{did_you_mean(name, machine_names())} They are: {', '.join(machine_names())}; "
            "or name a file of `isthmus profile -o FILE`",
        )
    try:
        return load_profile(path)
    except Unavailable as cause:
        raise UsageError(
            f"can't read the profile {shortened(name)}: {cause.reason}",
            hint=f"one that comes with Isthmus: {', '.join(machine_names())}",
        ) from cause
