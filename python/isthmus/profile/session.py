"""Measures copies on a device, by the native module."""

import statistics
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from isthmus.errors import OutOfDeviceMemory, Unavailable
from isthmus.profile.model import Path, Way
from isthmus.profile.plan import HostMemory

if TYPE_CHECKING:
    from isthmus import _native

_LEAST_BYTES = 1 << 20
_WINDOW_BYTES = 2 << 20
_NOISE = 0.03
_MOST_SAMPLES = 400
_OPENING_S = 0.03
# Long copies are few, and steady.
_LONG_BYTES = 16 << 20


class Session:
    """
    Buffers of both kinds on one device, and the ways to copy between them.

    Attributes:
        most_bytes: The largest copy that fits.
        check_s_per_byte: About what it takes to spoil a copy's target, and to compare it.
    """

    def __init__(self, driver: "_native.Driver", ordinal: int, most_bytes: int) -> None:
        """
        Allocate everything.

        Args:
            driver: Whose device it is.
            ordinal: Its number.
            most_bytes: The largest copy wanted; less is taken where memory is short.

        Raises:
            OutOfDeviceMemory: There isn't even 1 MiB of each kind.
        """
        from isthmus import _native

        self._context = _native.Context(driver, ordinal)
        self._bench = _native.PathBench(self._context)
        self.most_bytes = most_bytes
        self._buffers = self._allocate()
        self._fill("pageable")
        self.check_s_per_byte = self._fill("pinned") / self.most_bytes

    def _fill(self, memory: HostMemory) -> float:
        """Fill buffers with what is to be copied, as the first copy does; tells the seconds."""
        started = time.perf_counter()
        self.seconds(Way(path=Path.DRIVER, direction="h2d", host_memory=memory), 4, point_s=0)
        return time.perf_counter() - started

    def _allocate(self) -> "dict[str, _native.CopyBuffers]":
        from isthmus import _native

        while True:
            try:
                return {
                    memory: _native.CopyBuffers(
                        self._context, host_memory=memory, size_bytes=self.most_bytes
                    )
                    for memory in ("pageable", "pinned")
                }
            except OutOfDeviceMemory:
                if self.most_bytes <= _LEAST_BYTES:
                    raise
                self.most_bytes //= 4

    def seconds(self, way: Way, size_bytes: int, *, point_s: float) -> float:
        """
        Measure one point: the median time of a copy, from the call until its bytes are there.

        Args:
            way: How to copy.
            size_bytes: How much, at most `most_bytes`.
            point_s: For how long to take samples.

        Raises:
            Unavailable: This way can't here.
            CorruptTransfer: The bytes that arrived aren't those that were sent.
        """
        from isthmus import _native

        stopping = _native.Stopping(
            min_samples=3 if size_bytes >= _LONG_BYTES else 5,
            max_samples=_MOST_SAMPLES,
            max_seconds=point_s,
            relative_iqr=_NOISE,
        )
        found = self._bench.measure(
            self._buffers[way.host_memory],
            path=way.path.value,
            direction=way.direction,
            size_bytes=size_bytes,
            stopping=stopping,
        )
        return float(statistics.median(found.samples[0].seconds))

    def window_opening_seconds(self) -> float | None:
        """Measure what mapping a buffer costs; None without windows."""
        from isthmus import _native

        stopping = _native.Stopping(min_samples=5, max_samples=50, max_seconds=_OPENING_S)
        with suppress(Unavailable):
            bench = _native.WindowBench(self._context)
            found = bench.measure_lifecycle(size_bytes=_WINDOW_BYTES, stopping=stopping)
            for samples in found.samples:
                if samples.metric == "open_new":
                    return float(statistics.median(samples.seconds))
        return None
