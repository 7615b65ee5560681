"""Measures copies on a device, by the native module."""

import statistics
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from isthmus.decide.profile.lifetimes import NativeLifetimes, timing_of
from isthmus.decide.profile.measuring import Found
from isthmus.decide.profile.model import Path, StagingThreads, Way
from isthmus.decide.profile.plan import Effort, HostMemory
from isthmus.errors import OutOfDeviceMemory, Unavailable

if TYPE_CHECKING:
    from isthmus import _native

_MIN_BYTES = 1 << 20
_WINDOW_BYTES = 2 << 20
_OPENING_S = 0.03
_ONCE = Effort(sizes=(), budget_s=0, point_s=0, rounds=0, min_turns=1, max_turns=1)
# Pinned memory is pinned as isthmus.pinned does it: a copy asks the kernel what it is, once a tick.
# What cudaMallocHost gives looks like a device to the kernel, and a copy asks the driver each time:
# 0.8 us on an H200, as long as the rest of a short copy.
_BUFFERS: Mapping[HostMemory, str] = {"pageable": "pageable", "pinned": "huge_pinned"}
# Longer copies vary little, and three of them are enough.
_LONG_BYTES = 64 << 20
_FEWEST_TURNS = 3


def _turns(effort: Effort, size_bytes: int) -> "_native.Turns":
    from isthmus import _native

    long = size_bytes > _LONG_BYTES
    return _native.Turns(
        min_turns=min(effort.min_turns, _FEWEST_TURNS) if long else effort.min_turns,
        max_turns=effort.max_turns,
        max_seconds=effort.point_s,
    )


class Session:
    """Buffers of both kinds on one device, and the paths between them."""

    def __init__(self, driver: "_native.Driver", ordinal: int, max_bytes: int) -> None:
        """
        Allocate everything, for smaller copies than wanted if memory is short; raises
        OutOfDeviceMemory if there isn't even 1 MiB of each kind.
        """
        from isthmus import _native

        self._context = _native.Context(driver, ordinal)
        self._bench = _native.PathBench(self._context)
        self.lifetimes = NativeLifetimes(driver, ordinal, self._context)
        self.max_bytes = max_bytes
        self._buffers = self._allocate()
        self._fill("pageable")
        self.check_s_per_byte = self._fill("pinned") / self.max_bytes

    def _fill(self, memory: HostMemory) -> float:
        """Fill buffers with the bytes to copy, as the first copy does; returns the seconds."""
        started = time.perf_counter()
        self.times([Way(path=Path.DRIVER, direction="h2d", host_memory=memory)], 4, _ONCE)
        return time.perf_counter() - started

    def _allocate(self) -> "dict[str, _native.CopyBuffers]":
        from isthmus import _native

        while True:
            try:
                return {
                    memory: _native.CopyBuffers(
                        self._context, host_memory=kind, size_bytes=self.max_bytes
                    )
                    for memory, kind in _BUFFERS.items()
                }
            except (OutOfDeviceMemory, Unavailable):
                if self.max_bytes <= _MIN_BYTES:
                    raise
                self.max_bytes //= 4

    def times(self, ways: Sequence[Way], size_bytes: int, effort: Effort) -> Found:
        """
        Measure copies of one size in turns, by ways of one direction and kind of memory, from the
        call until the bytes have arrived.
        """
        found = self._measured(ways, size_bytes, _turns(effort, size_bytes))
        return Found(
            timings={way: timing_of(one.seconds) for way, one in found if one.seconds},
            absences={way: one.absence for way, one in found if one.absence},
        )

    def times_after_pause(
        self, ways: Sequence[Way], size_bytes: int, effort: Effort
    ) -> dict[Way, list[float]]:
        """Measure the same, each copy after a pause: by turns a sleep, and work of this thread."""
        from isthmus import _native

        count = effort.pause_turns
        turns = _native.Turns(min_turns=count, max_turns=count, max_seconds=0)
        found = self._measured(ways, size_bytes, turns, pause_s=effort.pause_s)
        return {way: list(one.seconds) for way, one in found if one.seconds}

    def _measured(
        self, ways: Sequence[Way], size_bytes: int, turns: "_native.Turns", pause_s: float = 0
    ) -> "list[tuple[Way, _native.PathTimes]]":
        if not ways:
            return []
        measured = self._bench.measure(
            self._buffers[ways[0].host_memory],
            paths=[way.path.value for way in ways],
            direction=ways[0].direction,
            size_bytes=size_bytes,
            turns=turns,
            pause_seconds=pause_s,
        )
        return list(zip(ways, measured, strict=True))

    def staging_times(self, direction: str, size_bytes: int, effort: Effort) -> dict[int, float]:
        """Measure staged copies by the number of threads; {} if there is no choice."""
        measured = self._bench.measure_ring(
            self._buffers["pageable"],
            direction=direction,
            size_bytes=size_bytes,
            turns=_turns(effort, size_bytes),
        )
        return {one.num_threads: statistics.median(one.seconds) for one in measured if one.seconds}

    def stage_with(self, threads: StagingThreads) -> None:
        """Stage with this number of threads from now on."""
        self._bench.use_ring_threads(upload=threads.h2d or 0, download=threads.d2h or 0)

    def window_opening_seconds(self) -> float | None:
        """Measure the cost of mapping a buffer; None without windows."""
        from isthmus import _native

        stopping = _native.Stopping(min_samples=5, max_samples=50, max_seconds=_OPENING_S)
        with suppress(Unavailable):
            values = {"size_bytes": _WINDOW_BYTES, "stopping": stopping}
            found = _native.Bench(self._context).measure("window_lifecycle", values)
            for samples in found.samples:
                if samples.metric == "open_new":
                    return float(statistics.median(samples.seconds))
        return None
