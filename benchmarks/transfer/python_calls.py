"""
What a copy costs in Python beyond the same copy in C++: medians of turns, in nanoseconds.

    python benchmarks/transfer/python_calls.py TRANSFER_DETAILS [OUT.json]

TRANSFER_DETAILS is the program of transfer_details.cpp. It runs beside this one and copies as many
bytes on request: each turn is a burst in C++, then one in Python, because on a shared host
the same call may take twice as long half a minute later. Arrays of PyTorch and CuPy are measured if
they are installed and there is a GPU; on the emulated driver only NumPy and the buffer protocol.
The thread has a current context, like one that uses PyTorch.
"""

import ctypes
import importlib.util
import statistics
import subprocess
import sys
import timeit
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus import _native
from isthmus.ground.json_text import json_text
from isthmus.move.transfer.copying import default_transfers

SIZE_BYTES = 64
TURNS, SHORTEST_SECONDS = 15, 0.005


def make_context_current(driver: _native.Driver) -> None:
    """Make the first device's primary context current on this thread, as the CUDA runtime does."""
    library, context = ctypes.CDLL(driver.path), ctypes.c_void_p()
    library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    library.cuCtxSetCurrent(context)


class Native:
    """The C++ program beside this one."""

    def __init__(self, program: str) -> None:
        """Start it."""
        self._process = subprocess.Popen(  # noqa: S603 - the user's own program
            [program, "calls", str(SIZE_BYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, direction: str) -> float:
        """Time a burst of its copies."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError
        self._process.stdin.write(f"{direction}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def stop(self) -> None:
        """End it."""
        self._process.communicate()


def turns(statement: str, names: dict[str, Any], native: Native, way: str) -> tuple[float, float]:
    """Time a statement and the C++ copy, in turns: seconds of each."""
    timer = timeit.Timer(statement, globals=names)
    loops = 1
    while timer.timeit(loops) < SHORTEST_SECONDS:
        loops *= 2
    pairs = [(timer.timeit(loops) / loops, native.seconds(way)) for _ in range(TURNS)]
    return statistics.median(one for one, _ in pairs), statistics.median(two for _, two in pairs)


class CudaArray:
    """Shows device memory by its type's interface, as Numba's arrays do."""

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
    """Shows device memory by an attribute of its own: its type doesn't say how to read it."""

    def __init__(self, memory: _native.DeviceMemory) -> None:
        """Describe it."""
        self.__cuda_array_interface__ = CudaArray(memory).described


def arrays(driver: _native.Driver, memory: _native.DeviceMemory) -> dict[str, object]:
    """Give an array of each library on the device: 64 bytes of float32."""
    found: dict[str, object] = {
        "DevicePointer": isthmus.DevicePointer(memory.pointer, SIZE_BYTES),
        "CUDA array interface": CudaArray(memory),
        "interface of the object": Strange(memory),
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


def main(program: str, out: str | None) -> None:
    """Print the time for each pair of arrays, and how much of it C++ doesn't take."""
    native = Native(program)
    driver = _native.Driver.open()
    make_context_current(driver)
    memory = _native.DeviceMemory(_native.Context(driver, 0), SIZE_BYTES)
    host = np.zeros(SIZE_BYTES // 4, "f4")
    names: dict[str, Any] = {
        "copy": isthmus.copy,
        "native": default_transfers()._native.copy,  # noqa: SLF001 - what the front door adds to it
        "h": host,
        "p": isthmus.pinned.zeros(SIZE_BYTES // 4, "f4"),
        "b": bytearray(SIZE_BYTES),
        "host_pointer": host.ctypes.data,
        "pointer": memory.pointer,
        "n": SIZE_BYTES,
    }
    kind = "EMULATED, modelled" if driver.emulated else driver.device(0).name
    print(f"{kind}; {SIZE_BYTES} bytes; ns a call, of the same call in C++, and beyond that")
    rows: list[dict[str, Any]] = []

    def report(what: str, statement: str, way: str) -> None:
        ours, theirs = turns(statement, names, native, way)
        rows.append({"what": what, "direction": way, "python_s": ours, "cpp_s": theirs})
        print(f"{what:<48}{ours * 1e9:>9.0f}{theirs * 1e9:>9.0f}{(ours - theirs) * 1e9:>9.0f}")

    report("addresses, to the device", "native(pointer, host_pointer, n)", "h2d")
    report("addresses, to the host", "native(host_pointer, pointer, n)", "d2h")
    for name, array in arrays(driver, memory).items():
        names["d"] = array
        for other, host_name in (("NumPy", "h"), ("isthmus.pinned", "p"), ("bytearray", "b")):
            report(f"{name} <- {other}", f"copy(d, {host_name})", "h2d")
            report(f"{other} <- {name}", f"copy({host_name}, d)", "d2h")
    native.stop()
    if out:
        record = {"machine": {"emulated": driver.emulated}, "bytes": SIZE_BYTES, "calls": rows}
        Path(out).write_text(json_text(record), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)  # noqa: PLR2004
