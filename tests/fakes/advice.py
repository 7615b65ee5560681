"""A machine for advice, made of straight lines."""

from fakes.profiles import machine, profile
from isthmus.decide.profile.model import (
    Cost,
    CostPoint,
    MemoryCost,
    MemoryKind,
    MemoryPoint,
    NewMemoryDownload,
    Path,
    Profile,
    StagingThreads,
    StagingTime,
    Timing,
)

KIB, MIB = 1 << 10, 1 << 20
SIZES = (4, 64, KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB)
# Seconds to begin, and bytes a second.
COPIES = {
    (Path.DRIVER, "pageable"): (6e-6, 8e9),
    (Path.DRIVER, "pinned"): (6e-6, 50e9),
    (Path.WINDOW, "pageable"): (5e-7, 1e9),
    (Path.WINDOW, "pinned"): (5e-7, 1e9),
    (Path.STAGED, "pageable"): (12e-6, 40e9),
}
MEMORY = {
    MemoryKind.PAGEABLE: (1e-7, 20e9),
    MemoryKind.PINNED: (2e-6, 2e9),
    MemoryKind.REGISTERED: (50e-6, 25e9),
    MemoryKind.NEW_PINNED: (3e-3, 100e9),
    MemoryKind.POOL: (2e-7, 1e18),
}
_STAGED_FROM = 16 * KIB
_WINDOW_TO = 16 * MIB


def line(start_s: float, rate: float, size: int) -> float:
    return start_s + size / rate


def costs(spread: float = 0.02) -> list[Cost]:
    return [
        Cost(
            path=path,
            direction=direction,
            host_memory=host,
            points=[
                CostPoint(bytes=size, **around(line(start, rate, size), spread))
                for size in SIZES
                if (path != Path.STAGED or size >= _STAGED_FROM)
                and (path != Path.WINDOW or size <= _WINDOW_TO)
            ],
        )
        for (path, host), (start, rate) in COPIES.items()
        for direction in ("h2d", "d2h")
    ]


def around(seconds: float, spread: float) -> dict[str, float]:
    return {
        "seconds": seconds,
        "low_seconds": seconds * (1 - spread),
        "high_seconds": seconds * (1 + spread),
    }


def memory(spread: float = 0.02) -> list[MemoryCost]:
    """Freeing takes a quarter of the time of allocating."""
    return [
        MemoryCost(
            memory=kind,
            points=[
                MemoryPoint(
                    bytes=size,
                    allocate=Timing(**around(line(start, rate, size), spread)),
                    free=Timing(**around(line(start, rate, size) / 4, spread)),
                )
                for size in SIZES
            ],
        )
        for kind, (start, rate) in MEMORY.items()
    ]


def machine_profile(**changes: object) -> Profile:
    """A machine of 16 cores whose staging gains from each of ten threads."""
    facts: dict[str, object] = {
        "machine": machine(),
        "costs": costs(),
        "memory": memory(),
        "not_measured": [],
        "window_opening_seconds": 5e-5,
        "staging_threads": StagingThreads(h2d=10, d2h=10),
        "staging_times": [
            StagingTime(direction=way, bytes=64 * MIB, threads=n, seconds=0.017 / n)
            for way in ("h2d", "d2h")
            for n in (1, 2, 4, 10)
        ],
        "new_memory_downloads": [
            NewMemoryDownload(
                path=path,
                points=[
                    CostPoint(bytes=size, **around(line(start, rate, size), 0.02)) for size in SIZES
                ],
            )
            for path, start, rate in ((Path.DRIVER, 7e-6, 3e9), (Path.STAGED, 13e-6, 20e9))
        ],
    }
    return profile(**(facts | changes))
