"""
Small copies called from Python, by the version of Isthmus that PYTHONPATH names.

    python python_worker.py DRIVER

Prints where that version lies and what it can time, then times what is asked for, line by line.
"""

import ctypes
import importlib.util
import json
import sys
import timeit
from importlib.machinery import PathFinder
from typing import Any

SIZE_BYTES = 64
_BURST_SECONDS = 1e-3
_HOSTS = {"NumPy": "numpy_array", "pinned": "pinned_array", "bytearray": "byte_array"}


class Device:
    """64 bytes of the first device, by the driver itself: both versions may differ in all else."""

    def __init__(self, path: str) -> None:
        """Make its context current and take memory."""
        library = ctypes.CDLL(path)
        context, memory = ctypes.c_void_p(), ctypes.c_uint64()
        failed = (
            library.cuInit(0)
            or library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
            or library.cuCtxSetCurrent(context)
            or library.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(SIZE_BYTES))
        )
        if failed:
            raise SystemExit(f"{path}: CUDA error {failed}")
        self.pointer = memory.value


class CudaArray:
    """Shows device memory by its type's interface, as Numba's arrays do."""

    def __init__(self, pointer: int) -> None:
        """Describe it."""
        self.described = {
            "shape": (SIZE_BYTES // 4,),
            "typestr": "<f4",
            "data": (pointer, False),
            "version": 3,
        }

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """Give the description."""
        return self.described


class Strange:
    """Shows device memory by an attribute of its own, not its type's."""

    def __init__(self, pointer: int) -> None:
        """Describe it."""
        self.__cuda_array_interface__ = CudaArray(pointer).described


class Measured:
    """The version that this process imports."""

    def __init__(self, driver: str) -> None:
        """Take arrays of each kind."""
        # An installation for editing has a finder that would come before PYTHONPATH.
        sys.meta_path.insert(0, PathFinder)
        import numpy as np

        import isthmus

        self.file = isthmus.__file__
        self.names: dict[str, Any] = {
            "copy": isthmus.copy,
            "copy_async": isthmus.copy_async,
            "numpy_array": np.zeros(SIZE_BYTES // 4, "f4"),
            "pinned_array": isthmus.pinned.zeros(SIZE_BYTES // 4, "f4"),
            "byte_array": bytearray(SIZE_BYTES),
        }
        self.device = Device(driver)
        self.statements: dict[str, str] = {}
        pointer = isthmus.DevicePointer(self.device.pointer, SIZE_BYTES)
        self._add("DevicePointer", "pointer", pointer)
        self._add("CUDA interface", "cuda_array", CudaArray(self.device.pointer))
        self._add("own attribute", "strange", Strange(self.device.pointer))
        if "/" not in driver:
            self._add_libraries()
        for host, name in _HOSTS.items():
            self.statements[f"async pointer <- {host}"] = f"copy_async(pointer, {name}).result()"
            self.statements[f"async {host} <- pointer"] = f"copy_async({name}, pointer).result()"
        self.timers: dict[str, tuple[timeit.Timer, int]] = {}

    def _add(self, library: str, name: str, array: object) -> None:
        self.names[name] = array
        for host, other in _HOSTS.items():
            self.statements[f"{library} <- {host}"] = f"copy({name}, {other})"
            self.statements[f"{host} <- {library}"] = f"copy({other}, {name})"

    def _add_libraries(self) -> None:
        if importlib.util.find_spec("torch"):
            import torch

            self._add("PyTorch", "tensor", torch.zeros(SIZE_BYTES // 4, device="cuda"))
        if importlib.util.find_spec("cupy"):
            import cupy

            self._add("CuPy", "cupy_array", cupy.zeros(SIZE_BYTES // 4, "f4"))

    def nanoseconds(self, what: str) -> float:
        """Time a burst, after a shorter one: the other processes had the CPU."""
        if what not in self.timers:
            timer, num_calls = timeit.Timer(self.statements[what], globals=self.names), 1
            while timer.timeit(num_calls) < _BURST_SECONDS:
                num_calls *= 2
            self.timers[what] = timer, num_calls
        timer, num_calls = self.timers[what]
        timer.timeit(max(1, num_calls // 4))
        return timer.timeit(num_calls) / num_calls * 1e9


def answer(driver: str) -> None:
    """Say what can be timed, then time what is asked for, line by line."""
    measured = Measured(driver)
    print(json.dumps([measured.file, list(measured.statements)]), flush=True)
    for line in sys.stdin:
        print(measured.nanoseconds(line.strip()), flush=True)


if __name__ == "__main__":
    answer(sys.argv[1])
