"""
Copies of the same arrays by every installed library, in turns, in one process.

    python benchmarks/transfer/side_by_side.py OUT.json [MAX_BYTES]

Each task is what a user writes, from Python, and its time includes the overhead. Libraries that are
not installed are left out, and named. Every copy by Isthmus is verified.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from contestants import Contestants, working
from machine import machine_facts
from rounds import Task, by_turns, sample

import isthmus
from isthmus.ground.json_text import json_text

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = [4, 64, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB]
SIZES += [MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB]
MIN_FRESH = 64 * KIB


def random_bytes(size: int, seed: int) -> "np.ndarray[Any, Any]":
    """Make an array of random bytes in pageable memory."""
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8)


def rows(tasks: dict[str, Task], **circumstances: object) -> list[dict[str, Any]]:
    """Time tasks and describe the results."""
    return [
        {**circumstances, "contestant": name, **times.row()}
        for name, times in by_turns(working(tasks, lambda task: sample(task, 1))).items()
    ]


def verify(contestants: Contestants, task: Task, data: "np.ndarray[Any, Any]") -> None:
    """Check that a task copies these bytes to the device."""
    contestants.device.memory.write(bytes(data.nbytes))
    sample(task, 1)
    if contestants.device.memory.read(data.nbytes) != data.tobytes():
        raise SystemExit(f"a copy of {data.nbytes} bytes to the device is wrong")


def verify_download(contestants: Contestants, target: "np.ndarray[Any, Any]", task: Task) -> None:
    """Check that a task copies the device's bytes to the host."""
    wanted = random_bytes(target.nbytes, 3)
    contestants.device.memory.write(wanted)
    target[:] = 0
    sample(task, 1)
    if not np.array_equal(target, wanted):
        raise SystemExit(f"a copy of {target.nbytes} bytes to the host is wrong")


def measure(contestants: Contestants, size: int) -> list[dict[str, Any]]:
    """Measure one size in both directions, from and to both kinds of memory."""
    found: list[dict[str, Any]] = []
    pageable = random_bytes(size, 1)
    pinned = isthmus.pinned.empty(size, np.uint8)
    pinned[:] = pageable
    for kind, array in (("pageable", pageable), ("pinned", pinned)):
        upload = contestants.to_device(array, pinned=kind == "pinned")
        verify(contestants, upload["isthmus"], array)
        found += rows(upload, direction="h2d", kind=kind, bytes=size, target="warm")
        download = contestants.to_host(array, pinned=kind == "pinned")
        verify_download(contestants, array, download["isthmus"])
        found += rows(download, direction="d2h", kind=kind, bytes=size, target="warm")
    if size >= MIN_FRESH:
        fresh = contestants.to_fresh_host(size)
        found += rows(fresh, direction="d2h", kind="pageable", bytes=size, target="fresh")
    return found


def main(arguments: list[str]) -> int:
    """Measure, and write the results."""
    out = Path(arguments[0])
    max_bytes = int(arguments[1]) if len(arguments) > 1 else GIB
    contestants = Contestants(max_bytes)
    results: list[dict[str, Any]] = []
    for size in SIZES:
        if size <= max_bytes:
            results += measure(contestants, size)
            print(f"{size} bytes", file=sys.stderr)
    record = {
        "schema_version": 1,
        "machine": machine_facts(),
        "results": results,
        "stats": str(isthmus.stats()),
    }
    out.write_text(json_text(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
