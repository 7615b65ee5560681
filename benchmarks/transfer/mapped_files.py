"""
Copies between mapped files and the GPU, beside copies of ordinary memory and PyTorch's.

    python benchmarks/transfer/mapped_files.py [--out FILE] [--folder /dev/shm] [--max-mib 256]
        [--rounds 9]

"fresh": the file was mapped anew before each copy, as a DataLoader maps a batch of its workers,
and no page of it is in the page table yet. "touched": every page was read before. The file is in
the page cache, or is shared memory. A source was written by another process before each copy. All
ways of a size take turns; times are medians, "cpu_s" is user and system time of all threads of
this process during the copy. To compare two versions, run this by turns with each of them.
"""

import argparse
import mmap
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from contestants import optional
from machine import machine_facts

import isthmus
from isthmus.ground.json_text import json_text

MIB = 1 << 20
SIZES = (64 << 10, 256 << 10, MIB, 4 * MIB, 16 * MIB, 74 * MIB, 256 * MIB, 1024 * MIB)
# By another process: what this one has just written would be in its cores' own caches.
WRITE = "import sys; open(sys.argv[1], 'wb').write(bytes([int(sys.argv[3])]) * int(sys.argv[2]))"

torch: Any = optional("torch")


@dataclass
class Found:
    """The seconds of a way: by the clock, and of all CPUs."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)


class File:
    """A file of one size, and its mappings."""

    def __init__(self, folder: Path, size_bytes: int) -> None:
        """Make it."""
        self.path = folder / f"isthmus-mapped-{os.getpid()}"
        self.size_bytes = size_bytes

    def write(self, value: int) -> None:
        """Let another process fill it."""
        command = [sys.executable, "-c", WRITE, self.path, str(self.size_bytes), str(value)]
        subprocess.run(command, check=True)  # noqa: S603 - this file's own text

    def mapped(self, *, touched: bool) -> Any:  # noqa: ANN401 - of NumPy
        """Map it anew."""
        with self.path.open("r+b") as file:
            array = np.frombuffer(mmap.mmap(file.fileno(), self.size_bytes), np.uint8)
        if touched:
            array[:: mmap.PAGESIZE].max()
        return array

    def remove(self) -> None:
        """Delete it."""
        self.path.unlink()


def timed(copy: Callable[[Any], None], host: Any, found: Found) -> None:  # noqa: ANN401
    """Make a copy once."""
    cpu, start = time.process_time(), time.perf_counter()
    copy(host)
    found.seconds.append(time.perf_counter() - start)
    found.cpu_seconds.append(time.process_time() - cpu)


def ways_of(device: Any) -> dict[tuple[str, str], Callable[[Any], None]]:  # noqa: ANN401
    """Give each contestant's copies, by contestant and direction."""
    ways: dict[tuple[str, str], Callable[[Any], None]] = {
        ("isthmus", "h2d"): lambda host: isthmus.copy(device, host),
        ("isthmus", "d2h"): lambda host: isthmus.copy(host, device),
    }
    if torch is not None and torch.cuda.is_available():
        ways["torch", "h2d"] = lambda host: device.copy_(torch.from_numpy(host))
        ways["torch", "d2h"] = lambda host: torch.from_numpy(host).copy_(device)
    return ways


def device_bytes(size_bytes: int) -> Any:  # noqa: ANN401 - PyTorch's, or ours without it
    """Allocate on the device."""
    if torch is not None and torch.cuda.is_available():
        return torch.zeros(size_bytes, dtype=torch.uint8, device="cuda")
    return isthmus.device_empty(size_bytes, "uint8")


def require_right(device: Any, host: Any, value: int, way: str) -> None:  # noqa: ANN401
    """End with an error if a copy brought other bytes."""
    there = np.empty(device.shape, np.uint8)
    isthmus.copy(there, device)
    if not (there == value).all() or not (host == value).all():
        raise SystemExit(f"{way}: the copy brought other bytes")


def measure(folder: Path, size_bytes: int, rounds: int) -> list[dict[str, Any]]:
    """Measure all ways of a size in turns."""
    file, device = File(folder, size_bytes), device_bytes(size_bytes)
    ways, memory = ways_of(device), np.ones(size_bytes, np.uint8)
    found: dict[tuple[str, str, str], Found] = {}
    try:
        for number in range(rounds + 1):
            for state in ("fresh", "touched", "memory"):
                for (who, direction), copy in ways.items():
                    value = 1 + number % 100
                    if direction == "h2d":
                        file.write(value)
                    if state == "memory":
                        host = memory
                        host[:] = value
                    else:
                        host = file.mapped(touched=state == "touched")
                    if direction == "d2h":
                        isthmus.copy(device, np.full(size_bytes, 200, np.uint8))
                        value = 200
                    timed(copy, host, found.setdefault((who, direction, state), Found()))
                    require_right(device, host, value, f"{who}, {direction}, {state}")
                    del host
    finally:
        file.remove()
    return [row(key, size_bytes, one) for key, one in found.items()]


def row(key: tuple[str, str, str], size_bytes: int, found: Found) -> dict[str, Any]:
    """Describe a result, without the first round."""
    who, direction, state = key
    seconds = statistics.median(found.seconds[1:])
    return {
        "contestant": who,
        "direction": direction,
        "host": state,
        "bytes": size_bytes,
        "median_s": seconds,
        "min_s": min(found.seconds[1:]),
        "cpu_s": statistics.median(found.cpu_seconds[1:]),
        "gb_per_s": size_bytes / seconds / 1e9,
    }


def main(arguments: list[str]) -> int:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"))  # noqa: S108 - shared memory
    parser.add_argument("--max-mib", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(arguments)
    results: list[dict[str, Any]] = []
    for size_bytes in SIZES:
        if size_bytes > options.max_mib * MIB:
            break
        rows = measure(options.folder, size_bytes, options.rounds)
        results += rows
        for one in rows:
            print(
                f"{size_bytes >> 10:7} KiB {one['direction']} {one['contestant']:8} {one['host']:8}"
                f"{one['median_s'] * 1e3:9.3f} ms {one['gb_per_s']:6.1f} GB/s "
                f"{one['cpu_s'] * 1e3:9.2f} ms of CPU",
                flush=True,
            )
    if options.out is not None:
        record = {
            "schema_version": 1,
            "method": " ".join((__doc__ or "").split()),
            "machine": machine_facts(),
            "results": results,
        }
        options.out.write_text(json_text(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
