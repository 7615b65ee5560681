"""
Many copies by one call, and copies of parts of arrays: beside loops and other libraries.

    python benchmarks/frontdoor/copies.py [--out FILE] [--turns N]

Medians of turns, each way once a turn. PyTorch and CuPy take part if they are installed and see a
GPU. Cases:

    small       256 arrays of 4 KiB: isthmus.copy of two lists and a loop of it; PyTorch's loop and
                torch._foreach_copy_; CuPy's loop
    state       400 arrays of 4 B to 256 MiB (on the emulated device: to 256 KiB) by one call,
                beside one copy of as many bytes
    strided     part of an array on the GPU, such as its columns, to and from the host
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus import _native
from isthmus.ground.json_text import json_text

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from contestants import optional
from machine import machine_facts

NUM_SMALL, SMALL_BYTES = 256, 4096
NUM_STATE, LARGEST_BYTES, LARGEST_EMULATED_BYTES = 400, 256 << 20, 256 << 10
ALIGNMENT_BYTES = 256
STRIDED = {
    "[:, 1:1025] of 4096 x 4096": ((4096, 4096), np.s_[:, 1:1025]),
    "[:, ::2] of 4096 x 4096": ((4096, 4096), np.s_[:, ::2]),
    "[:, :, :64] of 64 x 512 x 512": ((64, 512, 512), np.s_[:, :, :64]),
    "[::3, :, ::-5] of 64 x 512 x 512": ((64, 512, 512), np.s_[::3, :, ::-5]),
}

Ways = dict[str, Callable[[], object]]
# For each name the calls by way, their bytes, and how many seconds they may take.
Case = tuple[str, Ways, int, float]
Pointers = list[isthmus.DevicePointer]

torch: Any = optional("torch")
cupy: Any = optional("cupy")


class Device:
    """The first device, and memory of it."""

    def __init__(self) -> None:
        """Open the driver."""
        self.driver = _native.Driver.open()
        self._context = _native.Context(self.driver, 0)
        self.libraries = (
            not self.driver.emulated and torch is not None and torch.cuda.is_available()
        )

    def pieces(self, sizes: list[int]) -> tuple[_native.DeviceMemory, Pointers]:
        """Allocate one block, and give a part of it for each size."""
        places = np.cumsum([0, *(-(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES for size in sizes)])
        memory = _native.DeviceMemory(self._context, int(places[-1]))
        pointers = [
            isthmus.DevicePointer(memory.pointer + int(place), size)
            for place, size in zip(places, sizes, strict=False)
        ]
        return memory, pointers


def host_arrays(sizes: list[int], kind: str) -> list[Any]:
    """Allocate a host array for each size, and touch it."""
    if kind == "pinned":
        return [isthmus.pinned.zeros(size, np.uint8) for size in sizes]
    return [np.ones(size, np.uint8) for size in sizes]


def medians(ways: Ways, turns: int, longest_seconds: float) -> dict[str, float]:
    """Time each way in turns: microseconds."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        way()
        way()
    end = time.perf_counter() + longest_seconds
    for _ in range(turns):
        for name, way in ways.items():
            first = time.perf_counter()
            way()
            times[name].append(time.perf_counter() - first)
        if time.perf_counter() > end:
            break
    return {name: round(statistics.median(found) * 1e6, 2) for name, found in times.items()}


def each(copy: Callable[[Any, Any], object], targets: list[Any], sources: list[Any]) -> None:
    """Copy one by one."""
    for target, source in zip(targets, sources, strict=True):
        copy(target, source)


def complete(copy: Callable[[], object]) -> Callable[[], None]:
    """Wait for the GPU after a copy of another library."""

    def now() -> None:
        copy()
        torch.cuda.synchronize()

    return now


def turned(pair: tuple[Any, Any], direction: str) -> tuple[Any, Any]:
    """Give target and source of memory on the device and on the host."""
    return pair if direction == "H2D" else (pair[1], pair[0])


def set_or_get(array: Any, host: Any, direction: str) -> None:  # noqa: ANN401 - CuPy's
    """Copy by CuPy."""
    if direction == "H2D":
        array.set(host)
    else:
        array.get(out=host)


def small(device: Device, kind: str, direction: str) -> Iterator[Case]:
    """Give the ways to copy 256 arrays of 4 KiB."""
    sizes = [SMALL_BYTES] * NUM_SMALL
    _memory, devices = device.pieces(sizes)
    hosts = host_arrays(sizes, kind)
    pair = turned((devices, hosts), direction)
    ways: Ways = {
        "isthmus.copy(list)": lambda: isthmus.copy(*pair),
        "isthmus.copy loop": lambda: each(isthmus.copy, *pair),
        "isthmus.copy_async(list)": lambda: isthmus.copy_async(*pair).result(),
    }
    if device.libraries:
        homes = [
            torch.ones(SMALL_BYTES, dtype=torch.uint8, pin_memory=kind == "pinned") for _ in sizes
        ]
        tensors = turned(([home.cuda() for home in homes], homes), direction)
        ways |= {
            "torch loop": complete(
                lambda: each(lambda one, two: one.copy_(two, non_blocking=True), *tensors)
            ),
            "torch._foreach_copy_": complete(
                lambda: torch._foreach_copy_(*tensors, non_blocking=True)
            ),
            "isthmus.copy(list of tensors)": lambda: isthmus.copy(*tensors),
        }
    if device.libraries and cupy is not None:
        arrays = [cupy.zeros(SMALL_BYTES, np.uint8) for _ in sizes]
        ways["cupy loop"] = complete(
            lambda: each(lambda one, two: set_or_get(one, two, direction), arrays, hosts)
        )
    yield f"{direction} {kind}", ways, sum(sizes), 60.0


def state(device: Device, kind: str, direction: str) -> Iterator[Case]:
    """Give the ways to copy a state dict of 400 arrays, whose sizes are in no order."""
    largest = LARGEST_EMULATED_BYTES if device.driver.emulated else LARGEST_BYTES
    ratio = (largest / 4) ** (1 / (NUM_STATE - 1))
    sizes = [max(4, int(4 * ratio ** (i * 179 % NUM_STATE)) // 4 * 4) for i in range(NUM_STATE)]
    names = [f"layers.{i}.weight" for i in range(NUM_STATE)]
    _memory, pieces = device.pieces([*sizes, sum(sizes)])
    [*homes, home] = host_arrays([*sizes, sum(sizes)], kind)
    maps = [dict(zip(names, arrays, strict=True)) for arrays in (pieces[:-1], homes)]
    many, one = turned((maps[0], maps[1]), direction), turned((pieces[-1], home), direction)
    ways: Ways = {"state dict": lambda: isthmus.copy(*many), "one copy": lambda: isthmus.copy(*one)}
    yield f"{direction} {kind}", ways, sum(sizes), 1.5


class Part:
    """A part of an array of float32 in device memory."""

    def __init__(self, memory: _native.DeviceMemory, whole: Any, where: Any) -> None:  # noqa: ANN401
        """Describe it."""
        self._memory, view = memory, whole[where]
        offset = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        self.__cuda_array_interface__ = {
            "shape": view.shape,
            "typestr": "<f4",
            "strides": view.strides,
            "data": (memory.pointer + offset, False),
            "version": 3,
        }


def strided(device: Device, kind: str, direction: str) -> Iterator[Case]:
    """Give the ways to copy parts of arrays."""
    for name, (shape, where) in STRIDED.items():
        whole = np.zeros(shape, np.float32)
        memory, _ = device.pieces([whole.nbytes])
        home = (isthmus.pinned.zeros if kind == "pinned" else np.ones)(
            whole[where].shape, np.float32
        )
        pair = turned((Part(memory, whole, where), home), direction)
        ways: Ways = {"isthmus.copy": lambda pair=pair: isthmus.copy(*pair)}  # type: ignore[misc]
        if device.libraries and "-5" not in name:  # PyTorch's tensors have no negative strides
            part = torch.zeros(shape, device="cuda")[where]
            target, source = turned(
                (part, torch.ones(part.shape, pin_memory=kind == "pinned")), direction
            )
            ways["torch copy_"] = complete(
                lambda target=target, source=source: target.copy_(source)  # type: ignore[misc]
            )
        if device.libraries and cupy is not None:
            ways |= cupy_part(cupy.zeros(shape, np.float32)[where], home, direction)
        yield f"{direction} {kind} {name}", ways, home.nbytes, 0.5


def cupy_part(part: Any, home: Any, direction: str) -> Ways:  # noqa: ANN401 - CuPy's
    """Give CuPy's way to copy a part of an array."""

    def up() -> None:
        part[...] = cupy.asarray(home)

    if direction == "H2D":
        return {"cupy assignment": complete(up)}
    return {"cupy get": lambda: cupy.asnumpy(part)}


CASES = {"small": small, "state": state, "strided": strided}


def measured(device: Device, title: str, turns: int) -> dict[str, Any]:
    """Measure a case, and print it."""
    print(f"\n{title}, microseconds (median)")
    rows: dict[str, Any] = {}
    for kind in ("pinned", "pageable"):
        for direction in ("H2D", "D2H"):
            for name, ways, size_bytes, seconds in CASES[title](device, kind, direction):
                rows[name] = medians(ways, turns, seconds) | {"bytes": size_bytes}
                print(f"  {name}: {rows[name]}", flush=True)
    return rows


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    device = Device()
    record = {
        "schema_version": 1,
        "machine": machine_facts(),
        "method": __doc__,
        "turns": options.turns,
        "unit": "us",
        "results": {title: measured(device, title, options.turns) for title in CASES},
    }
    if options.out is not None:
        options.out.write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
