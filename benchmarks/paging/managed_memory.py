"""
Managed memory, and the driver's calls that move it; for measure.py.

CuPy has no calls for batches, so they are the driver's own. Source: cuda.h of CUDA 13.0.
"""

# ruff: noqa: ANN401 - CuPy's arrays

import ctypes
from collections.abc import Sequence
from typing import Any

MAX_BYTES = 512 << 20
_DEVICE, _HOST = 1, 2  # CUmemLocationType
_PREFER, _ACCESSED_BY = 3, 5  # CUmem_advise


class _Location(ctypes.Structure):
    """A CUmemLocation."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class Batch:
    """
    Ranges for one call.

    Attributes:
        count: How many ranges they are.
    """

    def __init__(self, memory: "ManagedMemory", ranges: Sequence[tuple[int, int]]) -> None:
        """Take ranges of (first byte, bytes)."""
        self._memory = memory
        self.count = len(ranges)
        self._addresses = (ctypes.c_uint64 * self.count)(
            *(memory.pointer + first for first, _ in ranges)
        )
        self._sizes = (ctypes.c_size_t * self.count)(*(size for _, size in ranges))
        self._first = ctypes.c_size_t(0)

    def prefetch(self) -> None:
        """Prefetch all of them to the GPU."""
        self._to_device("cuMemPrefetchBatchAsync")

    def discard(self) -> None:
        """Say that their contents aren't needed."""
        self._memory.call("cuMemDiscardBatchAsync", *self._ranges(), ctypes.c_ulonglong(0))

    def discard_and_prefetch(self) -> None:
        """Do both in one call."""
        self._to_device("cuMemDiscardAndPrefetchBatchAsync")

    def _ranges(self) -> tuple[object, ...]:
        return self._addresses, self._sizes, ctypes.c_size_t(self.count)

    def _to_device(self, name: str) -> None:
        where = (ctypes.byref(_Location(_DEVICE, 0)), ctypes.byref(self._first))
        more = (ctypes.c_size_t(1), ctypes.c_ulonglong(0))
        self._memory.call(name, *self._ranges(), *where, *more)


class ManagedMemory:
    """
    An array in managed memory, on the host at first.

    Its calls are in a stream of its own, since batches refuse the legacy stream. Work in the legacy
    stream waits for it.

    Attributes:
        pointer: Its address.
        size_bytes: Its size.
    """

    def __init__(self, cupy: Any, host: Any) -> None:
        """Copy an array."""
        self._cupy = cupy
        self._driver = ctypes.CDLL("libcuda.so.1")
        self._stream = cupy.cuda.Stream()
        self.size_bytes = int(host.nbytes)
        self._memory = cupy.cuda.malloc_managed(self.size_bytes)
        self.pointer = int(self._memory.ptr)
        ctypes.memmove(self.pointer, host.ctypes.data, self.size_bytes)

    def batch(self, ranges: Sequence[tuple[int, int]]) -> Batch:
        """Give ranges as the operands of a call."""
        return Batch(self, ranges)

    def prefetch(self, part: tuple[int, int]) -> None:
        """Prefetch one range to the GPU."""
        self._prefetch_to(_Location(_DEVICE, 0), part)

    def to_host(self) -> None:
        """Bring all of it to the host, and wait."""
        self._prefetch_to(_Location(_HOST, 0), (0, self.size_bytes))
        self._cupy.cuda.Device().synchronize()

    def advise_in_place(self) -> None:
        """Keep it on the host from now on, where kernels access it."""
        whole = (ctypes.c_uint64(self.pointer), ctypes.c_size_t(self.size_bytes))
        self.call("cuMemAdvise_v2", *whole, _PREFER, _Location(_HOST, 0), stream=False)
        self.call("cuMemAdvise_v2", *whole, _ACCESSED_BY, _Location(_DEVICE, 0), stream=False)

    def call(self, name: str, *arguments: Any, stream: bool = True) -> None:
        """Call the driver; the stream is the last argument of most functions."""
        where = (ctypes.c_void_p(self._stream.ptr),) if stream else ()
        failed = getattr(self._driver, name)(*arguments, *where)
        if failed:
            raise SystemExit(f"{name} failed with {failed}")

    def _prefetch_to(self, location: _Location, part: tuple[int, int]) -> None:
        first, size_bytes = part
        where = (ctypes.c_uint64(self.pointer + first), ctypes.c_size_t(size_bytes))
        self.call("cuMemPrefetchAsync_v2", *where, location, ctypes.c_uint(0))
