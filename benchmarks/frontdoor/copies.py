"""
Many copies by one call, and awaited copies: beside loops, other libraries and the bench's ways.

    python benchmarks/frontdoor/copies.py [--out FILE] [--turns N]

Medians of turns, each way once a turn. PyTorch and CuPy take part if they are installed and see a
GPU. Questions:

    small       256 arrays of 4 KiB: isthmus.copy of two lists; a loop of isthmus.copy; PyTorch's
                loop and torch._foreach_copy_; CuPy's loop; the ways of `isthmus bench` (C++ alone)
    state       400 arrays of 4 B to 256 MiB (on the emulated device: to 256 KiB) by one call,
                beside one copy of as many bytes
    delay       how long an unrelated asyncio.to_thread takes while 64 copies are awaited, beside
                the same without copies
    awaited     64 copies, awaited together
    strided     part of an array on the GPU, such as its columns, to and from the host: beside
                PyTorch's and CuPy's copies, where they are installed and see a GPU
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus import _native
from isthmus.bench.tests.many_copies import MANY_COPIES_TESTS
from isthmus.json_text import json_text

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from machine import machine_facts

NUM_SMALL, SMALL_BYTES = 256, 4096
NUM_STATE, LARGEST_BYTES, LARGEST_EMULATED_BYTES = 400, 256 << 20, 256 << 10
NUM_AWAITED, AWAITED_BYTES, AWAITED_EMULATED_BYTES = 64, 16 << 20, 64 << 10
LONGEST_STATE_SECONDS = 6.0
ALIGNMENT_BYTES = 256

Ways = dict[str, Callable[[], object]]


class Device:
    """The first device, and memory of it."""

    def __init__(self) -> None:
        """Open the driver."""
        self.driver = _native.Driver.open()
        self.context = _native.Context(self.driver, 0)
        self._kept: list[_native.DeviceMemory] = []

    def pieces(self, sizes: list[int]) -> list[isthmus.DevicePointer]:
        """Allocate one block, and give a part of it for each size."""
        places = list(_places(sizes))
        memory = _native.DeviceMemory(self.context, places[-1] + max(sizes[-1], 1))
        self._kept.append(memory)
        return [
            isthmus.DevicePointer(memory.pointer + place, size)
            for place, size in zip(places, sizes, strict=True)
        ]

    def free(self) -> None:
        """Give all memory back."""
        self._kept.clear()


def _places(sizes: list[int]) -> Iterator[int]:
    place = 0
    for size in sizes:
        yield place
        place += -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def host_arrays(sizes: list[int], *, pinned: bool) -> list[Any]:
    """Allocate a host array for each size, and touch it."""
    if pinned:
        return [isthmus.pinned.zeros(size, np.uint8) for size in sizes]
    return [np.ones(size, np.uint8) for size in sizes]


def medians(ways: Ways, turns: int, longest_seconds: float = 60.0) -> dict[str, float]:
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


def loop_of(targets: list[Any], sources: list[Any]) -> None:
    """Copy one by one."""
    for target, source in zip(targets, sources, strict=True):
        isthmus.copy(target, source)


def small(device: Device, turns: int) -> dict[str, Any]:
    """Copy 256 arrays of 4 KiB."""
    rows: dict[str, Any] = {}
    sizes = [SMALL_BYTES] * NUM_SMALL
    devices = device.pieces(sizes)
    for memory in ("pinned", "pageable"):
        hosts = host_arrays(sizes, pinned=memory == "pinned")
        for direction in ("H2D", "D2H"):
            targets, sources = (devices, hosts) if direction == "H2D" else (hosts, devices)
            ways: Ways = {
                "isthmus.copy(list)": lambda t=targets, s=sources: isthmus.copy(t, s),
                "isthmus.copy loop": lambda t=targets, s=sources: loop_of(t, s),
                "isthmus.copy_async(list)": lambda t=targets, s=sources: isthmus.copy_async(
                    t, s
                ).result(),
            }
            ways |= torch_ways(direction, pinned=memory == "pinned")
            ways |= cupy_ways(direction)
            rows[f"{direction} {memory}"] = medians(ways, turns)
    return rows


def torch_ways(direction: str, *, pinned: bool) -> Ways:
    """Give PyTorch's ways, if it is there and sees a GPU."""
    try:
        import torch
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    hosts = [torch.ones(SMALL_BYTES, dtype=torch.uint8) for _ in range(NUM_SMALL)]
    hosts = [tensor.pin_memory() for tensor in hosts] if pinned else hosts
    devices = [torch.zeros(SMALL_BYTES, dtype=torch.uint8, device="cuda") for _ in hosts]
    targets, sources = (devices, hosts) if direction == "H2D" else (hosts, devices)

    def one_by_one() -> None:
        for target, source in zip(targets, sources, strict=True):
            target.copy_(source, non_blocking=True)
        torch.cuda.synchronize()

    def for_each() -> None:
        torch._foreach_copy_(targets, sources, non_blocking=True)
        torch.cuda.synchronize()

    return {
        "torch loop": one_by_one,
        "torch._foreach_copy_": for_each,
        "isthmus.copy(list of tensors)": lambda: isthmus.copy(targets, sources),
    }


def cupy_ways(direction: str) -> Ways:
    """Give CuPy's way, if it is there and sees a GPU."""
    try:
        import cupy

        devices = [cupy.zeros(SMALL_BYTES, np.uint8) for _ in range(NUM_SMALL)]
    except Exception:  # noqa: BLE001 - not installed, or no GPU
        return {}
    hosts = [np.ones(SMALL_BYTES, np.uint8) for _ in devices]

    def one_by_one() -> None:
        for array, host in zip(devices, hosts, strict=True):
            if direction == "H2D":
                array.set(host)
            else:
                array.get(out=host)
        cupy.cuda.get_current_stream().synchronize()

    return {"cupy loop": one_by_one}


def bench_ways() -> dict[str, Any]:
    """Measure the ways of `isthmus bench`: in C++, between pinned memory and one block."""
    tests = [argument for test in MANY_COPIES_TESTS for argument in ("-t", test.name)]
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "isthmus", "bench", *tests, "--quick", "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.returncode != 0:
        return {"failed": done.stderr[-500:]}
    return {
        f"{result['test']}, {result['bytes']} B": round(result["median"] * 1e6, 2)
        for result in json.loads(done.stdout)["results"]
        if result.get("metric") == "completion" and result.get("median")
    }


def state_sizes(largest_bytes: int) -> list[int]:
    """Give sizes from 4 B up, each the same factor above the one before: multiples of 4."""
    ratio = (largest_bytes / 4) ** (1 / (NUM_STATE - 1))
    sizes = [max(4, int(4 * ratio**i) // 4 * 4) for i in range(NUM_STATE)]
    return [sizes[i * 179 % NUM_STATE] for i in range(NUM_STATE)]  # not in order


def state(device: Device, turns: int) -> dict[str, Any]:
    """Copy a state dict of 400 arrays, beside one copy of the same bytes."""
    rows: dict[str, Any] = {}
    largest = LARGEST_EMULATED_BYTES if device.driver.emulated else LARGEST_BYTES
    sizes = state_sizes(largest)
    names = [f"layers.{i}.weight" for i in range(NUM_STATE)]
    devices = dict(zip(names, device.pieces(sizes), strict=True))
    [whole_device] = device.pieces([sum(sizes)])
    for memory in ("pinned", "pageable"):
        hosts = dict(zip(names, host_arrays(sizes, pinned=memory == "pinned"), strict=True))
        [whole_host] = host_arrays([sum(sizes)], pinned=memory == "pinned")
        for direction in ("H2D", "D2H"):
            up = direction == "H2D"
            many = (devices, hosts) if up else (hosts, devices)
            one = (whole_device, whole_host) if up else (whole_host, whole_device)
            found = medians(
                {
                    "state dict": lambda many=many: isthmus.copy(*many),
                    "one copy": lambda one=one: isthmus.copy(*one),
                },
                turns,
                LONGEST_STATE_SECONDS / 4,
            )
            found["bytes"] = sum(sizes)
            found["rate of one copy's"] = round(found["one copy"] / found["state dict"], 3)
            rows[f"{direction} {memory}"] = found
    device.free()
    return rows


async def unrelated_seconds() -> float:
    """Time a call in another thread that does nothing."""
    first = time.perf_counter()
    await asyncio.to_thread(lambda: None)
    return time.perf_counter() - first


async def delays(targets: list[Any], sources: list[Any]) -> tuple[float, float, float]:
    """Give seconds: of the unrelated call alone; beside 64 awaited copies; of the copies."""
    await unrelated_seconds()
    alone = await unrelated_seconds()
    first = time.perf_counter()
    futures = [
        isthmus.copy_async(target, source, source_order="stream")
        for target, source in zip(targets, sources, strict=True)
    ]

    async def wait(future: isthmus.CopyFuture) -> None:
        await future

    waiting = [asyncio.ensure_future(wait(future)) for future in futures]
    await asyncio.sleep(0)
    beside = await unrelated_seconds()
    await asyncio.gather(*waiting)
    return alone, beside, time.perf_counter() - first


def awaited(device: Device, turns: int) -> dict[str, Any]:
    """Measure how awaited copies delay an unrelated call in a thread."""
    size = AWAITED_EMULATED_BYTES if device.driver.emulated else AWAITED_BYTES
    rows: dict[str, Any] = {}
    devices = device.pieces([size] * NUM_AWAITED)
    for memory in ("pinned", "pageable"):
        hosts = host_arrays([size] * NUM_AWAITED, pinned=memory == "pinned")
        for direction in ("H2D", "D2H"):
            targets, sources = (devices, hosts) if direction == "H2D" else (hosts, devices)
            found = [asyncio.run(delays(targets, sources)) for _ in range(min(turns, 5))]
            rows[f"{direction} {memory}"] = {
                "bytes": size * NUM_AWAITED,
                "to_thread alone": round(statistics.median(one[0] for one in found) * 1e6, 2),
                "to_thread beside 64 awaited copies": round(
                    statistics.median(one[1] for one in found) * 1e6, 2
                ),
                "64 awaited copies": round(statistics.median(one[2] for one in found) * 1e6, 2),
            }
    device.free()
    return rows


class Part:
    """A part of an array of float32 in device memory."""

    def __init__(self, pointer: int, whole: np.ndarray[Any, Any], where: Any) -> None:  # noqa: ANN401
        """Describe it."""
        view = whole[where]
        offset = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        self.__cuda_array_interface__ = {
            "shape": view.shape,
            "typestr": "<f4",
            "strides": view.strides,
            "data": (pointer + offset, False),
            "version": 3,
        }


STRIDED = {
    "[:, 1:1025] of 4096 x 4096": ((4096, 4096), np.s_[:, 1:1025]),
    "[:, ::2] of 4096 x 4096": ((4096, 4096), np.s_[:, ::2]),
    "[:, :, :64] of 64 x 512 x 512": ((64, 512, 512), np.s_[:, :, :64]),
    "[::3, :, ::-5] of 64 x 512 x 512": ((64, 512, 512), np.s_[::3, :, ::-5]),
}


def strided(device: Device, turns: int) -> dict[str, Any]:
    """Copy parts of arrays."""
    rows: dict[str, Any] = {}
    for name, (shape, where) in STRIDED.items():
        whole = np.zeros(shape, np.float32)
        [memory] = device.pieces([whole.nbytes])
        part = Part(memory.pointer, whole, where)
        for kind in ("pinned", "pageable"):
            made = isthmus.pinned.zeros if kind == "pinned" else np.ones
            home = made(whole[where].shape, np.float32)
            ways: dict[str, Ways] = {
                "H2D": {"isthmus.copy": lambda p=part, h=home: isthmus.copy(p, h)},
                "D2H": {"isthmus.copy": lambda p=part, h=home: isthmus.copy(h, p)},
            }
            # PyTorch's tensors have no negative strides.
            if "-5" not in name:
                add_torch(ways, shape, where, pinned=kind == "pinned")
            add_cupy(ways, shape, where, home)
            for direction, found in ways.items():
                row = medians(found, turns, 0.5)
                row["bytes"] = home.nbytes
                rows[f"{direction} {kind} {name}"] = row
        device.free()
    return rows


def add_torch(ways: dict[str, Ways], shape: tuple[int, ...], where: Any, *, pinned: bool) -> None:  # noqa: ANN401
    """Add PyTorch's copies, if it is there and sees a GPU."""
    try:
        import torch
    except ImportError:
        return
    if not torch.cuda.is_available():
        return
    part = torch.zeros(shape, device="cuda")[where]
    home = torch.ones(part.shape, pin_memory=pinned)

    def copy(target: Any, source: Any) -> None:  # noqa: ANN401
        target.copy_(source)
        torch.cuda.synchronize()

    ways["H2D"]["torch copy_"] = lambda: copy(part, home)
    ways["D2H"]["torch copy_"] = lambda: copy(home, part)


def add_cupy(
    ways: dict[str, Ways],
    shape: tuple[int, ...],
    where: Any,  # noqa: ANN401
    home: np.ndarray[Any, Any],
) -> None:
    """Add CuPy's copies, if it is there and sees a GPU."""
    try:
        import cupy

        part = cupy.zeros(shape, np.float32)[where]
    except Exception:  # noqa: BLE001 - not installed, or no GPU
        return

    def up() -> None:
        part[...] = cupy.asarray(home)
        cupy.cuda.get_current_stream().synchronize()

    ways["H2D"]["cupy assignment"] = up
    ways["D2H"]["cupy get"] = lambda: cupy.asnumpy(part)


def show(title: str, rows: dict[str, Any]) -> None:
    """Print one table."""
    print(f"\n{title}, microseconds (median)")
    for name, row in rows.items():
        if not isinstance(row, dict):
            print(f"  {name:<48} {row}")
            continue
        print(f"  {name}")
        for what, value in row.items():
            print(f"    {what:<46} {value:>14}")


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    device = Device()
    results = {"small": small(device, options.turns)}
    device.free()
    show("256 arrays of 4 KiB", results["small"])
    results["bench"] = bench_ways()
    show("the ways of isthmus bench many", results["bench"])
    results["state"] = state(device, options.turns)
    show("a state dict of 400 arrays", results["state"])
    results["awaited"] = awaited(device, options.turns)
    show("64 awaited copies", results["awaited"])
    results["strided"] = strided(device, options.turns)
    show("parts of arrays", results["strided"])
    if options.out is not None:
        record = {
            "schema_version": 1,
            "machine": machine_facts(),
            "method": __doc__,
            "turns": options.turns,
            "unit": "us",
            "results": results,
        }
        options.out.write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
