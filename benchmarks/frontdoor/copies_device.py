"""What all questions about copies need: memory on both sides, and medians of ways by turns."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import isthmus
from isthmus import _native

ALIGNMENT_BYTES = 256

Ways = dict[str, Callable[[], object]]


class Device:
    """The first device, and memory of it."""

    def __init__(self) -> None:
        """Open the driver."""
        self.driver = _native.Driver.open()
        self.context = _native.Context(self.driver, 0)
        self._kept: list[_native.DeviceMemory] = []

    def pieces(self, sizes: list[int]) -> list[isthmus.DevicePointer]:
        """Allocate one block, and give a part of it for each size."""
        places = list(_places(sizes))
        memory = _native.DeviceMemory(self.context, places[-1] + max(sizes[-1], 1))
        self._kept.append(memory)
        return [
            isthmus.DevicePointer(memory.pointer + place, size)
            for place, size in zip(places, sizes, strict=True)
        ]

    def free(self) -> None:
        """Give all memory back."""
        self._kept.clear()


def _places(sizes: list[int]) -> Iterator[int]:
    place = 0
    for size in sizes:
        yield place
        place += -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def host_arrays(sizes: list[int], *, pinned: bool) -> list[Any]:
    """Allocate a host array for each size, and touch it."""
    if pinned:
        return [isthmus.pinned.zeros(size, np.uint8) for size in sizes]
    return [np.ones(size, np.uint8) for size in sizes]


def least_us(call: Callable[[], object], turns: int) -> float:
    """Time a call again and again; the least time counts."""
    least = float("inf")
    for _ in range(turns):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least * 1e6


def medians(ways: Ways, turns: int, longest_seconds: float = 60.0) -> dict[str, float]:
    """Time each way in turns: microseconds."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
        way()
    end = time.perf_counter() + longest_seconds
    for _ in range(turns):
        for name, way in ways.items():
            first = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - first)
        if time.perf_counter() > end:
            break
    return {name: round(statistics.median(found) * 1e6, 2) for name, found in times.items()}
