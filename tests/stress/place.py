"""What all parts of a run share: the device, how long it goes on, and what has happened."""

import ctypes
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import isthmus
from fakes.cuda_calls import Cuda
from isthmus import _native


class Tally:
    """What was done, and what went wrong. May be used from any thread, and in signal handlers."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.num_bytes = 0

    def count(self, what: str, size_bytes: int = 0) -> None:
        with self._lock:
            self.counts[what] += 1
            self.num_bytes += size_bytes

    def fail(self, what: str) -> None:
        with self._lock:
            self.failures.append(what)


class Place:
    """The device and the driver that copies are made with."""

    def __init__(self, folder: Path, *, faults: bool, captures: bool) -> None:
        self.folder = folder
        self.faults = faults
        self.captures = captures
        self.tally = Tally()
        self.ending = threading.Event()
        self.driver = _native.Driver.open()
        self.context = _native.Context(self.driver, 0)

    @property
    def going_on(self) -> bool:
        return not self.ending.is_set() and not self.tally.failures

    @contextmanager
    def allowed(self, what: str) -> Iterator[None]:
        """
        Let a call fail with a documented error, where there may be a reason.

        Raises:
            Refused: It has.
        """
        try:
            yield
        except (isthmus.DriverError, isthmus.Unavailable, isthmus.OutOfDeviceMemory) as error:
            if not self.faults:
                raise
            in_use = getattr(error, "memory_in_use", False)
            self.tally.count(f"{what}: failed" + (", memory in use" if in_use else ""))
            raise Refused from error


class Refused(Exception):
    """A call failed as it may."""


def come_to_rest(cuda: Cuda, stream: int) -> None:
    """Wait for a stream, beside captures, and though calls are made to fail."""
    mode = ctypes.c_int(2)  # relaxed
    cuda.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    codes = [-1]
    while codes[-1] != 0 and len(codes) < 100:
        codes.append(cuda.result("cuStreamSynchronize", ctypes.c_void_p(stream)))
    cuda.call("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    assert codes[-1] == 0, f"cuStreamSynchronize returned {codes[-1]}"


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
