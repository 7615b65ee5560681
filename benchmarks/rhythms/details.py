"""
What lies behind the results of `measure.py`; needs a GPU, PyTorch, and for `push` CuPy.

    python benchmarks/rhythms/details.py parts|spins|paths|push OUT.json [--rounds 9]

parts: by which layer of a call the time after a pause is taken. spins: time and CPU time of copies
with one value of ISTHMUS_SPIN_US, which the environment gives. paths: each path by its name, back
to back, and the first three copies after a pause. push: downloads by a kernel.
"""

import argparse
import ctypes
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from others import DOWN, UP, Libraries, memcpy_function

import isthmus
from isthmus.ground.json_text import json_text
from isthmus.move.transfer.copying import default_transfers

KIB, MIB = 1 << 10, 1 << 20
PAUSE_S = 3e-3

Row = dict[str, Any]
Call = Callable[[], object]


def spin(seconds: float) -> None:
    """Occupy this thread."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


class Memory:
    """Memory of one size on both sides, and the GPU's work."""

    def __init__(self, size: int, direction: str, kind: str) -> None:
        """Allocate."""
        import torch

        self.size, self.up = size, direction == "h2d"
        self.device = torch.zeros(size, dtype=torch.uint8, device="cuda")
        self.host = np.ones(size, np.uint8)
        if kind == "pinned":
            self.host = isthmus.pinned.empty(size, np.uint8)
        self.there, self.here = self.device.data_ptr(), self.host.ctypes.data
        kinds = {"source_kind": kind, "target_kind": "device"}
        self.kinds = kinds if self.up else dict(zip(kinds, reversed(kinds.values()), strict=True))
        self.of = {"direction": direction, "kind": kind, "bytes": size}

    def native(self, **options: str) -> Call:
        """Copy by the native module."""
        copy = default_transfers().native.copy
        target, source = (self.there, self.here) if self.up else (self.here, self.there)
        return lambda: copy(target, source, self.size, **options)

    def python(self, device: Any) -> Call:  # noqa: ANN401 - a tensor or a pointer
        """Copy as programs do."""
        if self.up:
            return lambda: isthmus.copy(device, self.host)
        return lambda: isthmus.copy(self.host, device)


def pauses() -> dict[str, Callable[[float], None]]:
    """List what happens before a copy."""
    work = Libraries(1).work
    found: dict[str, Callable[[float], None]] = {"spin": spin, "sleep": time.sleep}
    return found if work is None else found | {"gpu": work}


def timed(call: Call) -> float:
    """Time one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def back_to_back(call: Call) -> float:
    """Time calls that follow each other, for 0.4 ms."""
    count = max(3, min(60, int(400e-6 / min(timed(call) for _ in range(3)))))
    for _ in range(count):
        call()
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def compared(
    calls: dict[str, Call], pause_s: float, name: str, rounds: int, **of: object
) -> list[Row]:
    """Time calls in turns, back to back and the first three after each pause."""
    times: dict[tuple[str, str], list[list[float]]] = {}
    for _ in range(rounds):
        for call_name, call in calls.items():
            times.setdefault((call_name, "back to back"), []).append([back_to_back(call)])
            for rhythm, pause in pauses_once.items():
                pause(pause_s)
                after = [timed(call) for _ in range(3)]
                times.setdefault((call_name, rhythm), []).append(after)
    return [
        {
            **of,
            "pause_s": pause_s,
            name: call_name,
            "rhythm": rhythm,
            "seconds": [statistics.median(nth) for nth in zip(*found, strict=True)],
        }
        for (call_name, rhythm), found in times.items()
    ]


def parts(rounds: int) -> list[Row]:
    """Compare layers: a tensor, a pointer, the native call, the driver."""
    driver, runtime = ctypes.CDLL("libcuda.so.1"), memcpy_function()
    rows: list[Row] = []
    for size, direction, kind in (
        (16 * KIB, "d2h", "pinned"),
        (16 * KIB, "d2h", "pageable"),
        (64 * KIB, "d2h", "pinned"),
        (64 * KIB, "d2h", "pageable"),
    ):
        memory = Memory(size, direction, kind)
        pointer = isthmus.DevicePointer(memory.there, size)
        there, here = ctypes.c_uint64(memory.there), ctypes.c_void_p(memory.here)
        count = ctypes.c_size_t(size)

        def by_driver(here: object = here, there: object = there, count: object = count) -> object:
            return driver.cuMemcpyDtoH_v2(here, there, count)

        calls: dict[str, Call] = {
            "isthmus tensor": memory.python(memory.device),
            "isthmus pointer": memory.python(pointer),
            "native": memory.native(),
            "native told": memory.native(**memory.kinds),
            "native driver": memory.native(path="driver", **memory.kinds),
            "cuMemcpy": by_driver,
        }
        if runtime is not None:
            calls["cudaMemcpy"] = lambda m=memory: runtime(
                *((m.there, m.here, m.size, UP) if m.up else (m.here, m.there, m.size, DOWN))
            )
        rows += compared(calls, PAUSE_S, "call", rounds, **memory.of)
    return rows


def paths(rounds: int) -> list[Row]:
    """Compare paths by their names."""
    rows: list[Row] = []
    for size in (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 16 * MIB):
        for direction in ("h2d", "d2h"):
            for kind in ("pageable", "pinned"):
                memory = Memory(size, direction, kind)
                names = ["driver"] + ["window", "window_threads"] * (size <= MIB)
                names += ["staged"] * (kind == "pageable" and size >= 64 * KIB)
                calls = {name: memory.native(path=name, **memory.kinds) for name in names}
                rows += compared(calls, PAUSE_S, "path", rounds, **memory.of)
    return rows


def spins() -> list[Row]:
    """Measure the time and the CPU time of copies after short pauses."""
    spin_us = int(os.environ.get("ISTHMUS_SPIN_US", "20"))
    rows = []
    for size in (4 * KIB, 64 * KIB, 256 * KIB, MIB):
        for direction in ("h2d", "d2h"):
            memory = Memory(size, direction, "pageable")
            call = memory.python(memory.device)
            for pause_s in (0.0, 30e-6, 100e-6):
                count = max(20, min(1000, int(0.03 / (size / 4e9 + 10e-6 + pause_s))))
                start = time.process_time()
                for _ in range(count):
                    spin(pause_s)
                paused_s = time.process_time() - start
                times, start = [], time.process_time()
                for _ in range(count):
                    spin(pause_s)
                    times.append(timed(call))
                time.sleep(2e-3)
                cpu_s = (time.process_time() - start - paused_s) / count
                row = {"spin_us": spin_us, **memory.of, "pause_s": pause_s, "cpu_s": cpu_s}
                rows.append(row | {"median_s": statistics.median(times)})
    return rows


PUSH = r"""
extern "C" __global__ void push(const uint4* from, uint4* to, unsigned long long n,
                                unsigned* count, volatile unsigned* flag, unsigned value) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
       i += step)
    to[i] = from[i];
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(count, 1u) == gridDim.x - 1) {
    *count = 0;
    __threadfence_system();
    *flag = value;
  }
}
"""


def push(rounds: int) -> list[Row]:
    """Compare a kernel that writes pinned memory with the driver's copy."""
    import cupy

    kernel, count = cupy.RawKernel(PUSH, "push"), cupy.zeros(1, cupy.uint32)
    flag = isthmus.pinned.empty(16, np.uint32)
    flag[:] = 0
    by_flag = np.uint64(flag.ctypes.data)
    rows: list[Row] = []
    for size in (16 * KIB, 64 * KIB, 256 * KIB, MIB):
        source, pinned = cupy.zeros(size, cupy.uint8), isthmus.pinned.empty(size, np.uint8)
        to = np.uint64(pinned.ctypes.data)
        grid = (min(128, size // 4096),)

        def launch(
            source: object = source, to: object = to, size: int = size, grid: object = grid
        ) -> np.uint32:
            value = np.uint32(flag[0] + 1)
            kernel(grid, (256,), (source, to, np.uint64(size // 16), count, by_flag, value))
            return value

        def until_flag(launch: Callable[[], np.uint32] = launch) -> None:
            value = launch()
            while flag[0] != value:
                pass

        def until_done(launch: Callable[[], np.uint32] = launch) -> None:
            launch()
            cupy.cuda.runtime.deviceSynchronize()

        calls: dict[str, Call] = {"flag": until_flag, "sync": until_done}
        calls["cudaMemcpy"] = lambda to=to, source=source, size=size: cupy.cuda.runtime.memcpy(
            int(to), source.data.ptr, size, DOWN
        )
        rows += compared(calls, PAUSE_S, "call", rounds, bytes=size)
    return rows


pauses_once: dict[str, Callable[[float], None]] = {}

if __name__ == "__main__":
    by_rounds = {"parts": parts, "paths": paths, "push": push}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("what", choices=[*by_rounds, "spins"])
    parser.add_argument("output", type=Path)
    parser.add_argument("--rounds", type=int, default=9, help="of all but spins")
    asked = parser.parse_args()
    pauses_once.update(pauses())
    found = spins() if asked.what == "spins" else by_rounds[asked.what](asked.rounds)
    asked.output.write_text(json_text({"schema_version": 1, "results": found}), "utf-8")
