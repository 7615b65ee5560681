"""
Random copies by several threads at once, for minutes, every byte compared: 0 differences.

    python benchmarks/transfer/soak.py OUT.json [--minutes 10] [--threads 8] [--seed N]

Each thread has a piece of device memory of its own, and brings random bytes there and back: from
and to ordinary, pinned and file-backed memory, of random sizes at random offsets, blocking and
asynchronous, by the way that is chosen. The exit code is 1 if a byte differs or a copy fails.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from contestants import OwnDevice
from machine import machine_facts

import isthmus

MIB = 1 << 20
PIECE_BYTES = 96 * MIB
MOST_BYTES = 64 * MIB
Bytes = "np.ndarray[Any, Any]"


class Worker:
    """One thread's memory, and what happened there."""

    def __init__(self, device: OwnDevice, index: int, seed: int, folder: Path) -> None:
        """Take host memory of each kind."""
        self.chance = random.Random(f"{seed}.{index}")  # noqa: S311 - reproducible on purpose
        self.numbers = np.random.default_rng([seed, index])
        self.device = device
        self.first = index * PIECE_BYTES
        self.counts: Counter[str] = Counter()
        self.num_bytes = 0
        self.failures: list[str] = []
        path = folder / f"soak_{index}"
        path.write_bytes(bytes(PIECE_BYTES))
        self.memories = {
            "pageable": np.empty(PIECE_BYTES, dtype=np.uint8),
            "pinned": isthmus.pinned.empty(PIECE_BYTES, np.uint8),
            "file": np.memmap(path, dtype=np.uint8, mode="r+"),
        }

    def run(self, end: float) -> None:
        """Copy until it is time."""
        try:
            while time.monotonic() < end and not self.failures:
                self.there_and_back()
        except Exception:  # noqa: BLE001 - reported by the main thread
            self.failures.append(traceback.format_exc())

    def there_and_back(self) -> None:
        """Bring random bytes to the device and back, and compare them."""
        size = min(MOST_BYTES, int(2 ** self.chance.uniform(0, 26.01)))
        offset = self.first + self.chance.randrange(PIECE_BYTES - size + 1)
        there: object = self.device.first(size, offset)
        if self.chance.random() < 0.5:  # noqa: PLR2004 - as often as not
            there = isthmus.DevicePointer(self.device.pointer + offset, size)
        up, source = self.host_memory(size)
        down, target = self.host_memory(size)
        wanted = self.numbers.integers(0, 256, size, dtype=np.uint8)
        source[:] = wanted
        self.copy(there, source, f"{up} to device")
        if down == "fresh":
            target = np.empty(size, dtype=np.uint8)
        else:
            target[:] = ~wanted
        self.copy(target, there, f"device to {down}")
        self.num_bytes += 2 * size
        if not np.array_equal(target, wanted):
            wrong = int(np.flatnonzero(np.asarray(target) != wanted)[0])
            self.failures.append(f"{size} bytes, {up} to {down}: the first wrong one is {wrong}")

    def host_memory(self, size: int) -> tuple[str, Any]:
        """Choose a kind of memory, and a place in it."""
        kind = self.chance.choice(["pageable", "pinned", "file", "fresh"])
        if kind == "fresh":
            return kind, np.empty(size, dtype=np.uint8)
        start = self.chance.randrange(PIECE_BYTES - size + 1)
        return kind, self.memories[kind][start : start + size]

    def copy(self, target: object, source: object, what: str) -> None:
        """Copy, blocking or not."""
        if self.chance.random() < 0.5:  # noqa: PLR2004 - as often as not
            isthmus.copy(target, source)
        else:
            what += ", async"
            isthmus.copy_async(target, source).result()
        self.counts[what] += 1


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, folder: Path) -> list[Worker]:
    """Let the threads work until it is time."""
    device = OwnDevice(options.threads * PIECE_BYTES)
    workers = [Worker(device, i, options.seed, folder) for i in range(options.threads)]
    end = time.monotonic() + options.minutes * 60
    threads = [threading.Thread(target=worker.run, args=(end,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return workers


def main(arguments: list[str]) -> int:
    """Soak, and tell how it went."""
    options = parsed(arguments)
    with tempfile.TemporaryDirectory() as folder:
        workers = run(options, Path(folder))
        failures = [failure for worker in workers for failure in worker.failures]
    counts: Counter[str] = Counter()
    for worker in workers:
        counts.update(worker.counts)
    record = {
        "schema_version": 1,
        "machine": machine_facts(),
        "minutes": options.minutes,
        "num_threads": options.threads,
        "seed": options.seed,
        "num_copies": counts.total(),
        "num_bytes": sum(worker.num_bytes for worker in workers),
        "num_failures": len(failures),
        "copies": dict(sorted(counts.items())),
        "failures": failures,
    }
    options.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    gigabytes = record["num_bytes"] / 1e9  # type: ignore[operator] - a number, above
    print(f"{counts.total()} copies, {gigabytes:.1f} GB, {len(failures)} differences or failures")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
