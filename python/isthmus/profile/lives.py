"""Lives of host memory on a device, by the native module."""

import ctypes
import mmap
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from isthmus.errors import OutOfDeviceMemory, Unavailable, UsageError
from isthmus.profile.model import MemoryKind, MemoryPoint, Timing

if TYPE_CHECKING:
    from isthmus import _native

_MIN_LIVES, _MAX_LIVES = 3, 25
_QUARTERS = 4


def timing_of(seconds: Sequence[float]) -> Timing:
    """Give the median and the quartiles of samples; a single one has no quartiles."""
    middle = statistics.median(seconds)
    if len(seconds) == 1:
        return Timing(seconds=middle)
    low, _, high = statistics.quantiles(seconds, n=_QUARTERS, method="inclusive")
    return Timing(seconds=middle, low_seconds=min(low, middle), high_seconds=max(high, middle))


class NativeLives:
    """Host memory for one device."""

    def __init__(self, driver: "_native.Driver", ordinal: int, context: "_native.Context") -> None:
        """Allocate nothing yet."""
        self._driver, self._ordinal, self._context = driver, ordinal, context
        self._transfers: _native.Transfers | None = None

    def memory_point(
        self, memory: MemoryKind, size_bytes: int, max_seconds: float
    ) -> MemoryPoint | None:
        """
        Measure a kind of memory; None if it isn't available here.

        Args:
            memory: The kind.
            size_bytes: Of one buffer.
            max_seconds: For all its lives; there are at least three.

        Raises:
            CorruptTransfer: Bytes were wrong that were copied from it.
        """
        with suppress(Unavailable, OutOfDeviceMemory):
            if memory == MemoryKind.POOL:
                return self._pool_point(size_bytes)
            return self._life_point(memory, size_bytes, max_seconds)
        return None

    def _life_point(self, memory: MemoryKind, size_bytes: int, max_seconds: float) -> MemoryPoint:
        from isthmus import _native

        stopping = _native.Stopping(
            min_samples=_MIN_LIVES, max_samples=_MAX_LIVES, max_seconds=max_seconds
        )
        found = _native.measure_memory_life(
            self._context,
            None,
            host_memory=memory.value,
            size_bytes=size_bytes,
            num_copies=1,
            numa_node=None,
            stopping=stopping,
        )
        steps = {samples.metric: timing_of(samples.seconds) for samples in found.samples}
        return MemoryPoint(bytes=size_bytes, allocate=steps["allocate"], free=steps["free"])

    def _pool_point(self, size_bytes: int) -> MemoryPoint:
        """Time blocks of a pool that has the memory, as a call from Python takes."""
        from isthmus import _native

        pool = _native.PinnedPool(self._driver, self._ordinal)
        _native.PinnedBlock(pool, size_bytes)
        allocations, frees = [], []
        for _ in range(_MAX_LIVES):
            started = time.perf_counter()
            block = _native.PinnedBlock(pool, size_bytes)
            allocated = time.perf_counter()
            del block
            frees.append(time.perf_counter() - allocated)
            allocations.append(allocated - started)
        return MemoryPoint(bytes=size_bytes, allocate=timing_of(allocations), free=timing_of(frees))

    def new_memory_download(self, size_bytes: int, max_seconds: float) -> Timing | None:
        """
        Measure a staged download into memory without pages; None if copies can't be staged here.

        Args:
            size_bytes: Of the memory.
            max_seconds: For all copies; there are at least three.
        """
        from isthmus import _native

        transfers = self._transfers = self._transfers or self._opened()
        memory = _native.DeviceMemory(self._context, size_bytes)

        def live() -> None:
            pages = mmap.mmap(-1, size_bytes)
            address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
            transfers.copy(
                address, memory.pointer, size_bytes, target_kind="pageable", path="staged"
            )
            pages.close()

        try:
            live()  # creates the slots
            return timing_of(_repeated(live, max_seconds))
        except (Unavailable, UsageError):
            return None

    def _opened(self) -> "_native.Transfers":
        from isthmus import _native
        from isthmus.arrays.pending_work import PendingWork
        from isthmus.arrays.reading import Asked

        windows = _native.Windows(self._driver, backend="off", bar1_limit_bytes=None)
        return _native.Transfers(windows, _native.ArrayReader(Asked(PendingWork(self._driver))))


def _repeated(life: Callable[[], None], max_seconds: float) -> list[float]:
    seconds: list[float] = []
    while len(seconds) < _MIN_LIVES or (sum(seconds) < max_seconds and len(seconds) < _MAX_LIVES):
        started = time.perf_counter()
        life()
        seconds.append(time.perf_counter() - started)
    return seconds
