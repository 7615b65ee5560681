"""
The copies of each library between the same memory.

"isthmus" copies to and from a tensor, as PyTorch and CuPy do with their arrays; "isthmus pointer"
to and from an address, as cudaMemcpy does.
"""

import ctypes
import mmap
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import isthmus

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from contestants import DEVICE_TO_HOST, HOST_TO_DEVICE, cudart, optional


@dataclass(frozen=True)
class Pair:
    """
    A copy between two arrays.

    Attributes:
        copy: Makes it; its argument is the result of `prepare`.
        prepare: Gives the host's array; called before each copy, untimed.
    """

    copy: Callable[[Any], object]
    prepare: Callable[[], Any]


def fresh(size: int) -> "np.ndarray[Any, Any]":
    """Map memory that has no pages yet."""
    # Python's default is shared memory, which is a file's to the kernel.
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)


def filled(size: int) -> "np.ndarray[Any, Any]":
    """Map memory that was just written."""
    array = fresh(size)
    array[:] = 7
    return array


def shared(size: int, kind: str) -> "np.ndarray[Any, Any]":
    """Map shared memory without a descriptor ("shared"), or a file in the page cache ("file")."""
    if kind == "shared":
        return np.frombuffer(mmap.mmap(-1, size), np.uint8)
    with tempfile.TemporaryFile() as file:
        file.truncate(size)
        return np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8)


class Libraries:
    """
    Every installed library, and memory of the device that all of them use.

    Attributes:
        work: Occupies the GPU for so many seconds, and waits for it; None without PyTorch.
    """

    def __init__(self, max_bytes: int) -> None:
        """Take memory."""
        torch = optional("torch")
        self._torch = torch if torch is not None and torch.cuda.is_available() else None
        self._cupy = optional("cupy") if self._torch is not None else None
        self._runtime = cudart() if self._torch is not None else None
        self._own: dict[int, Any] = {}
        self.work = self._worker() if self._torch is not None else None
        if self._torch is not None:
            self._device = self._torch.zeros(max_bytes, dtype=self._torch.uint8, device="cuda")

    def _worker(self) -> Callable[[float], None]:
        torch, cycles = self._torch, 1_000_000
        occupy = torch.cuda._sleep  # noqa: SLF001 - PyTorch's own tests use it
        occupy(cycles)
        torch.cuda.synchronize()
        start = time.perf_counter()
        occupy(cycles)
        torch.cuda.synchronize()
        cycles_per_second = cycles / (time.perf_counter() - start)

        def work(seconds: float) -> None:
            occupy(int(cycles_per_second * seconds))
            torch.cuda.synchronize()

        return work

    def _some(self, size: int) -> Any:  # noqa: ANN401 - an array of some library
        if self._torch is None:
            return self._own.setdefault(size, isthmus.device_empty(size, np.uint8))
        return self._device[:size]

    def pairs(self, size: int, direction: str, kind: str) -> dict[str, Pair]:
        """List the same copy by every library, each from or to pinned memory of its own."""
        device, up = self._some(size), direction == "h2d"
        own, host = self._host_arrays(size, kind)
        if kind == "fresh":
            make = filled if up else fresh
            own = host = lambda: make(size)

        def by_isthmus(array: Any) -> None:  # noqa: ANN401
            isthmus.copy(device, array) if up else isthmus.copy(array, device)

        found = {"isthmus": Pair(by_isthmus, own)}
        if self._torch is not None:
            pointer = isthmus.DevicePointer(device.data_ptr(), size)

            def by_pointer(array: Any) -> None:  # noqa: ANN401
                isthmus.copy(pointer, array) if up else isthmus.copy(array, pointer)

            found["isthmus pointer"] = Pair(by_pointer, own)
            found["torch"] = self._torch_pair(device, host, up=up)
        if self._cupy is not None:
            found["cupy"] = self._cupy_pair(device, host, up=up)
        if self._runtime is not None:
            found["cudaMemcpy"] = self._memcpy_pair(device, host, size, up=up)
        return found

    def _host_arrays(self, size: int, kind: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
        array = np.random.default_rng(0).integers(0, 256, size, dtype=np.uint8)
        if kind in ("shared", "file"):
            there = shared(size, kind)
            there[:] = array
            return lambda: there, lambda: there
        if kind != "pinned":
            return lambda: array, lambda: array
        own = isthmus.pinned.empty(size, np.uint8)
        own[:] = array
        if self._torch is None:
            return lambda: own, lambda: own
        theirs = self._torch.from_numpy(array).pin_memory().numpy()
        return lambda: own, lambda: theirs

    def _torch_pair(self, device: Any, host: Callable[[], Any], *, up: bool) -> Pair:  # noqa: ANN401
        def prepare() -> Any:  # noqa: ANN401
            return self._torch.from_numpy(host())

        if up:
            return Pair(device.copy_, prepare)
        return Pair(lambda there: there.copy_(device), prepare)

    def _cupy_pair(self, device: Any, host: Callable[[], Any], *, up: bool) -> Pair:  # noqa: ANN401
        array, stream = self._cupy.from_dlpack(device), self._cupy.cuda.Stream.null

        def upload(there: Any) -> None:  # noqa: ANN401
            # From pinned memory set() only begins the copy.
            array.set(there)
            stream.synchronize()

        return Pair(upload if up else lambda there: array.get(out=there), host)

    def _memcpy_pair(
        self,
        device: Any,  # noqa: ANN401
        host: Callable[[], Any],
        size: int,
        *,
        up: bool,
    ) -> Pair:
        memcpy, pointer = self._runtime.cudaMemcpy, device.data_ptr()  # type: ignore[union-attr]
        memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        kind = HOST_TO_DEVICE if up else DEVICE_TO_HOST

        def prepare() -> tuple[int, Any]:
            array = host()
            return int(array.ctypes.data), array

        def copy(prepared: tuple[int, Any]) -> None:
            there = prepared[0]
            ends = (pointer, there) if up else (there, pointer)
            failed = memcpy(*ends, size, kind)
            if failed:
                raise RuntimeError(f"cudaMemcpy failed with {failed}")

        return Pair(copy, prepare)

    def verify(self, pair: Pair, size: int, direction: str) -> None:
        """Check that a copy by Isthmus moves the bytes."""
        wanted = np.random.default_rng(1).integers(0, 256, size, dtype=np.uint8)
        device, host = self._some(size), pair.prepare()
        if direction == "h2d":
            host[:] = wanted
            pair.copy(host)
            found = np.zeros(size, np.uint8)
            isthmus.copy(found, device)
        else:
            isthmus.copy(device, wanted)
            pair.copy(host)
            found = host
        if not np.array_equal(found, wanted):
            raise SystemExit(f"a copy of {size} bytes {direction} is wrong")
