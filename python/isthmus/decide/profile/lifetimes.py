"""Lifetimes of host memory on a device, by the native module."""

import ctypes
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from isthmus.decide.profile.model import MemoryKind, MemoryPoint, Path, Timing
from isthmus.errors import Error, OutOfDeviceMemory, Unavailable, UsageError

if TYPE_CHECKING:
    from isthmus import _native

_MIN_LIFETIMES, _MAX_LIFETIMES = 3, 25
# For so many times the time that is given, there are at least three lifetimes.
_OVERTIME = 10
_QUARTERS = 4
# measure_allocation samples pairs, both steps apart, and many allocations at a time.
_LOOPS = 3
# What the native module allocates for a kind; whether it writes to all pages; and whether copies in
# between count, of which the first one takes longer after the driver has pinned the memory.
_ALLOCATIONS = {
    MemoryKind.PAGEABLE: ("heap", True, False),
    MemoryKind.PINNED: ("pinned", False, True),
    MemoryKind.REGISTERED: ("registered_heap", True, True),
    MemoryKind.POOL: ("pooled", False, False),
}
_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p
_libc.malloc.argtypes = (ctypes.c_size_t,)
_libc.free.argtypes = (ctypes.c_void_p,)


def timing_of(seconds: Sequence[float]) -> Timing:
    """Give the median and the quartiles of samples; a single one has no quartiles."""
    middle = statistics.median(seconds)
    if len(seconds) == 1:
        return Timing(seconds=middle)
    low, _, high = statistics.quantiles(seconds, n=_QUARTERS, method="inclusive")
    return Timing(seconds=middle, low_seconds=min(low, middle), high_seconds=max(high, middle))


class NativeLifetimes:
    """Host memory for one device."""

    def __init__(self, driver: "_native.Driver", ordinal: int, context: "_native.Context") -> None:
        """Allocate nothing yet."""
        self._driver, self._ordinal, self._context = driver, ordinal, context
        self._transfers: _native.Transfers | None = None

    def memory_point(
        self, memory: MemoryKind, size_bytes: int, max_seconds: float
    ) -> MemoryPoint | None:
        """
        Measure a kind of memory; None if it isn't available here. Slow lifetimes take longer than
        `max_seconds`.
        """
        with suppress(Unavailable, OutOfDeviceMemory):
            if memory == MemoryKind.NEW_PINNED:
                return self._new_pool_point(size_bytes, max_seconds)
            return self._allocation_point(memory, size_bytes, max_seconds)
        return None

    def _allocation_point(
        self, memory: MemoryKind, size_bytes: int, max_seconds: float
    ) -> MemoryPoint:
        from isthmus import _native

        kind, touched, copied = _ALLOCATIONS[memory]
        stopping = _native.Stopping(
            min_samples=_MIN_LIFETIMES, max_samples=_MAX_LIFETIMES, max_seconds=max_seconds / _LOOPS
        )
        values = {
            "kind": kind,
            "pages": "touched" if touched else "untouched",
            "copied": copied,
            "size_bytes": size_bytes,
            "live": 1,
            "stopping": stopping,
        }
        found = _native.Bench(self._context).measure("allocation", values)
        steps = {samples.metric: timing_of(samples.seconds) for samples in found.samples}
        scale = _pair_scale(steps)
        return MemoryPoint(
            bytes=size_bytes,
            allocate=_scaled(steps["allocate"], scale),
            free=_scaled(steps["free"], scale),
        )

    def _new_pool_point(self, size_bytes: int, max_seconds: float) -> MemoryPoint:
        """Time blocks of a pool that has no memory."""
        from isthmus import _native

        pool = _native.PinnedPool(self._driver, self._ordinal)

        def free(block: list[object]) -> None:
            block.clear()
            pool.trim()

        return _point(size_bytes, max_seconds, lambda: _native.PinnedBlock(pool, size_bytes), free)

    def new_memory_download(self, path: Path, size_bytes: int, max_seconds: float) -> Timing | None:
        """
        Measure a download into what malloc gives; None if that path isn't possible here. Slow
        copies take longer than `max_seconds`.
        """
        from isthmus import _native

        transfers = self._transfers = self._transfers or self._opened()

        def live() -> None:
            address = _libc.malloc(size_bytes)
            if not address:
                raise MemoryError
            try:
                transfers.copy(
                    address, memory.pointer, size_bytes, target_kind="pageable", path=path.value
                )
            except Error as error:
                if not getattr(error, "memory_in_use", False):
                    _libc.free(address)
                raise
            _libc.free(address)

        try:
            memory = _native.DeviceMemory(self._context, size_bytes)
            live()  # creates the slots
            return timing_of(_repeated(_timed(live), max_seconds))
        except (Unavailable, UsageError, MemoryError):  # OutOfDeviceMemory is a MemoryError
            return None

    def _opened(self) -> "_native.Transfers":
        from isthmus import _native
        from isthmus.move.arrays.reading import Answers
        from isthmus.move.arrays.streams import PendingWork

        windows = _native.Windows(self._driver, backend="off", bar1_limit_bytes=None)
        return _native.Transfers(windows, _native.ArrayReader(Answers(PendingWork(self._driver))))


def _point(
    size_bytes: int,
    max_seconds: float,
    allocate: Callable[[], object],
    free: Callable[[list[object]], None],
) -> MemoryPoint:
    """Time both steps, after a life that isn't timed: it starts what pins for the whole process."""
    free([allocate()])  # `free` gets the memory in a list, as its last owner
    allocations: list[float] = []

    def life() -> float:
        started = time.perf_counter()
        held = [allocate()]
        allocated = time.perf_counter()
        free(held)
        allocations.append(allocated - started)
        return time.perf_counter() - allocated

    frees = _repeated(life, max_seconds)
    return MemoryPoint(bytes=size_bytes, allocate=timing_of(allocations), free=timing_of(frees))


def _pair_scale(steps: Mapping[str, Timing]) -> float:
    """
    Give how much shorter both steps are without the clock, whose reading takes as long as malloc of
    a few bytes; short pairs are timed many at a time.
    """
    apart = steps["allocate"].seconds + steps["free"].seconds
    return min(1.0, steps["pair"].seconds / apart)


def _scaled(timing: Timing, scale: float) -> Timing:
    seconds = {name: value and value * scale for name, value in timing.model_dump().items()}
    return Timing(**seconds)


def _timed(step: Callable[[], None]) -> Callable[[], float]:
    def timed() -> float:
        started = time.perf_counter()
        step()
        return time.perf_counter() - started

    return timed


def _repeated(life: Callable[[], float], max_seconds: float) -> list[float]:
    """Repeat what gives its time, for so long; slow ones a few times, and once at least."""
    started = time.perf_counter()
    seconds = [life()]
    while len(seconds) < _MAX_LIFETIMES:
        spent = time.perf_counter() - started
        if spent > max_seconds * (_OVERTIME if len(seconds) < _MIN_LIFETIMES else 1):
            break
        seconds.append(life())
    return seconds
