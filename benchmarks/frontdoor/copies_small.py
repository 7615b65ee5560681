"""Many small copies: by one call, by loops, by other libraries, and by the bench's ways."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
from copies_device import Device, Ways, host_arrays, medians

import isthmus
from isthmus.measure.bench.tests.many_copies import MANY_COPIES_TESTS

NUM_SMALL, SMALL_BYTES = 256, 4096


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
