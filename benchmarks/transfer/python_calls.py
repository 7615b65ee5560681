"""
What a copy costs in Python beyond the native call: medians of repeated loops, in nanoseconds.

    python benchmarks/transfer/python_calls.py

The rest of `isthmus.copy` is the same call by addresses, which reads no arrays: the difference is
what recognising them takes. Arrays of PyTorch and CuPy where they are installed and there is a GPU;
on the emulated driver only what NumPy and the buffer protocol show. The thread has a current
context, as one that uses PyTorch has.
"""

import ctypes
import importlib.util
import statistics
import timeit
from typing import Any

import numpy as np

import isthmus
from isthmus import _native
from isthmus.transfer.copying import default_transfers

SIZE_BYTES = 64
REPEATS, SHORTEST_SECONDS = 15, 0.02


def make_context_current(driver: _native.Driver) -> None:
    """Make the first device's primary context current on this thread, as the CUDA runtime does."""
    library, context = ctypes.CDLL(driver.path), ctypes.c_void_p()
    library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    library.cuCtxSetCurrent(context)


def nanoseconds(statement: str, names: dict[str, Any]) -> float:
    """Time one statement."""
    timer = timeit.Timer(statement, globals=names)
    loops = 1
    while timer.timeit(loops) < SHORTEST_SECONDS:
        loops *= 2
    return statistics.median(timer.repeat(REPEATS, loops)) / loops * 1e9


class CudaArray:
    """Shows device memory by its type's interface, as Numba's arrays do: it is read natively."""

    def __init__(self, memory: _native.DeviceMemory) -> None:
        """Describe it."""
        self.described = {
            "shape": (SIZE_BYTES // 4,),
            "typestr": "<f4",
            "data": (memory.pointer, False),
            "version": 3,
        }

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """Give the description."""
        return self.described


class Strange:
    """Shows device memory in a way that takes isthmus.arrays: by an attribute of its own."""

    def __init__(self, memory: _native.DeviceMemory) -> None:
        """Describe it."""
        self.__cuda_array_interface__ = CudaArray(memory).described


def arrays(driver: _native.Driver, memory: _native.DeviceMemory) -> dict[str, object]:
    """Give an array of each library on the device: 64 bytes of float32."""
    found: dict[str, object] = {
        "DevicePointer": isthmus.DevicePointer(memory.pointer, SIZE_BYTES),
        "CUDA array interface": CudaArray(memory),
        "read by isthmus.arrays": Strange(memory),
    }
    if driver.emulated:
        return found
    if importlib.util.find_spec("torch"):
        import torch

        found["PyTorch"] = torch.zeros(SIZE_BYTES // 4, device="cuda")
    if importlib.util.find_spec("cupy"):
        import cupy

        found["CuPy"] = cupy.zeros(SIZE_BYTES // 4, "f4")
    return found


def report(what: str, seconds: float, native: float) -> None:
    """Print a line."""
    print(f"{what:<56}{seconds:>10.0f}{seconds - native:>12.0f}")


def main() -> None:
    """Print what each pair of arrays costs, and how much of it is not the copy."""
    driver = _native.Driver.open()
    make_context_current(driver)
    memory = _native.DeviceMemory(_native.Context(driver, 0), SIZE_BYTES)
    native = default_transfers()._native  # noqa: SLF001 - what is measured against
    host = np.zeros(SIZE_BYTES // 4, "f4")
    names = {
        "copy": isthmus.copy,
        "native": native.copy,
        "h": host,
        "p": isthmus.pinned.zeros(SIZE_BYTES // 4, "f4"),
        "b": bytearray(SIZE_BYTES),
        "host_pointer": host.ctypes.data,
        "pointer": memory.pointer,
        "n": SIZE_BYTES,
    }
    kind = "EMULATED, modelled" if driver.emulated else driver.device(0).name
    print(f"{kind}; {SIZE_BYTES} bytes; ns a call, and beyond the call by addresses")
    up = nanoseconds("native(pointer, host_pointer, n)", names)
    down = nanoseconds("native(host_pointer, pointer, n)", names)
    on_host = nanoseconds("copy(b, h)", names)
    report("by addresses, to the device", up, up)
    report("by addresses, to the host", down, down)
    report(
        "bytearray <- NumPy",
        on_host,
        nanoseconds("native(host_pointer + 8, host_pointer, 8)", names),
    )
    for name, array in arrays(driver, memory).items():
        names["d"] = array
        for other, host_name in (("NumPy", "h"), ("isthmus.pinned", "p"), ("bytearray", "b")):
            report(f"{name} <- {other}", nanoseconds(f"copy(d, {host_name})", names), up)
            report(f"{other} <- {name}", nanoseconds(f"copy({host_name}, d)", names), down)
    print(isthmus.stats())


if __name__ == "__main__":
    main()
