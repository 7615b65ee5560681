"""Profiles and what they are measured on, made up."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace

from isthmus.decide.profile.measuring import Found
from isthmus.decide.profile.model import (
    Cost,
    MachineIdentity,
    Measured,
    MemoryKind,
    MemoryPoint,
    NotMeasured,
    Path,
    Profile,
    StagingThreads,
    Timing,
    Way,
)
from isthmus.decide.profile.plan import Effort

MIB = 1 << 20
MEASURED_AT = datetime(2026, 11, 20, 10, 11, 12, tzinfo=UTC)


def machine(**changes: object) -> MachineIdentity:
    facts: dict[str, object] = {
        "emulated": False,
        "gpu_uuid": "GPU-00112233-4455-6677-8899-aabbccddeeff",
        "gpu_name": "NVIDIA H100",
        "link": "PCIe Gen5 x16",
        "cuda_version": 13000,
        "driver_release": "580.159.04",
        "cpu_model": "Some CPU",
        "num_cores": 16.0,
    }
    return MachineIdentity.model_validate(facts | changes)


def identity(file: str = "", **changes: object) -> SimpleNamespace:
    """What the native module tells of that machine."""
    return SimpleNamespace(**machine(**changes).model_dump(), file=file)


def cost(path: Path, points: Mapping[int, float], direction: str = "h2d") -> Cost:
    return Cost.model_validate(
        {
            "path": path,
            "direction": direction,
            "host_memory": "pageable",
            "points": [{"bytes": size, "seconds": seconds} for size, seconds in points.items()],
        }
    )


def profile(**changes: object) -> Profile:
    """A window is best for small copies, staging for large ones."""
    facts: dict[str, object] = {
        "schema_version": 2,
        "measurement": Measured(
            finished_at=MEASURED_AT, seconds=8.25, quick=False, isthmus_version="0.1.0"
        ),
        "machine": machine(),
        "window_opening_seconds": 4.5e-5,
        "staging_threads": StagingThreads(h2d=10, d2h=6),
        "costs": [
            cost(Path.DRIVER, {4: 6e-6, 64 * MIB: 8e-3}),
            cost(Path.WINDOW, {4: 2e-7, 16 * MIB: 1.3e-3}),
            cost(Path.STAGED, {65536: 6e-5, 64 * MIB: 1.4e-3}),
        ],
        "not_measured": [
            NotMeasured(
                path=Path.REGISTERED,
                direction="h2d",
                host_memory="pageable",
                reason="RLIMIT_MEMLOCK is 64 KiB",
            )
        ],
    }
    return Profile.model_validate(facts | changes)


class FakeCopies:
    """
    Copies on a machine that is a few straight lines, and a clock that they move.

    Attributes:
        asked: Every point that was measured: path, direction, host memory, size.
        asked_after_pause: The same, after a pause.
        absent: Ways that can't here.
        threads: Gigabytes a second that so many threads stage.
        staged_with: What was chosen of these.
    """

    check_s_per_byte = 1e-10

    def __init__(self, *, slower: float = 1.0, max_bytes: int = 256 * MIB) -> None:
        self.max_bytes = max_bytes
        self.asked: list[tuple[Way, int]] = []
        self.asked_after_pause: list[tuple[Way, int]] = []
        self.absent: dict[Path, str] = {}
        self.threads: dict[int, float] = {2: 12, 4: 24, 6: 36, 8: 44.5, 10: 45, 16: 44}
        self.staged_with: StagingThreads | None = None
        self.now = 100.0
        self._slower = slower
        self._lines = {
            Path.DRIVER: (7e-6, 8e9),
            Path.WINDOW: (2e-7, 1e9),
            Path.WINDOW_THREADS: (1e-6, 5e9),
            Path.STAGED: (6e-5, 45e9),
            Path.REGISTERED: (1e-3, 12e9),
        }

    @property
    def lifetimes(self) -> "FakeCopies":
        return self

    def memory_point(
        self, memory: MemoryKind, size_bytes: int, max_seconds: float
    ) -> MemoryPoint | None:
        """Pinning costs five times as much as malloc; a pool's block costs nearly nothing."""
        if memory == MemoryKind.NEW_PINNED:
            return None
        rate = {MemoryKind.PAGEABLE: 5e10, MemoryKind.POOL: 1e15}.get(memory, 1e10)
        seconds = self._slower * (1e-6 + size_bytes / rate)
        self.now += max(max_seconds, 4 * seconds)
        return MemoryPoint(
            bytes=size_bytes,
            allocate=Timing(seconds=seconds, low_seconds=0.9 * seconds, high_seconds=2 * seconds),
            free=Timing(seconds=seconds / 4),
        )

    def new_memory_download(self, path: Path, size_bytes: int, max_seconds: float) -> Timing | None:
        if path in self.absent:
            return None
        seconds = self._slower * (1e-4 + size_bytes / 1e10)
        self.now += max(max_seconds, 4 * seconds)
        return Timing(seconds=seconds)

    def clock(self) -> float:
        return self.now

    def open(self, max_bytes: int) -> "FakeCopies":
        self.now += 0.2
        self.max_bytes = min(self.max_bytes, max_bytes)
        return self

    def _seconds(self, way: Way, size_bytes: int) -> float:
        fixed, rate = self._lines[way.path]
        if way.path == Path.DRIVER and way.host_memory == "pinned":
            rate = 55e9
        return self._slower * (fixed + size_bytes / rate)

    def times(self, ways: Sequence[Way], size_bytes: int, effort: Effort) -> Found:
        assert size_bytes <= self.max_bytes
        able = [way for way in ways if way.path not in self.absent]
        self.asked += [(way, size_bytes) for way in able]
        seconds = {way: self._seconds(way, size_bytes) for way in able}
        self.now += max(effort.point_s, (2 + effort.min_turns) * sum(seconds.values()))
        self.now += (len(able) + 1) * size_bytes * self.check_s_per_byte
        return Found(
            timings={way: Timing(seconds=one) for way, one in seconds.items()},
            absences={way: self.absent[way.path] for way in ways if way.path in self.absent},
        )

    def times_after_pause(
        self, ways: Sequence[Way], size_bytes: int, effort: Effort
    ) -> dict[Way, list[float]]:
        """Waking threads takes 50 us, everything else 15 us."""
        self.asked_after_pause += [(way, size_bytes) for way in ways]
        self.now += (2 + effort.pause_turns) * len(ways) * effort.pause_s
        threads = {Path.STAGED, Path.WINDOW_THREADS}
        return {
            way: effort.pause_turns
            * [self._seconds(way, size_bytes) + (5e-5 if way.path in threads else 1.5e-5)]
            for way in ways
        }

    def staging_times(self, direction: str, size_bytes: int, effort: Effort) -> dict[int, float]:
        assert direction in {"h2d", "d2h"}
        found = {n: self._slower * size_bytes / (1e9 * rate) for n, rate in self.threads.items()}
        self.now += max(effort.point_s, (2 + effort.min_turns) * sum(found.values()))
        return found

    def stage_with(self, threads: StagingThreads) -> None:
        self.staged_with = threads

    def window_opening_seconds(self) -> float | None:
        return None if Path.WINDOW in self.absent else 4.5e-5
