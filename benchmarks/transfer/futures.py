"""
What it costs to begin a copy in Python, beside a blocking one, and beside another version's.

    python benchmarks/transfer/futures.py OUT.json [--before FOLDER]

FOLDER holds the `isthmus` package of a version to compare with. Each version has a process of its
own, which measures a burst on request; they take turns, so that slow drifts affect both. Medians of
turns, in microseconds, of:

    copy        blocking
    begin       copy_async until it returns
    complete    copy_async and .result()

`copy` of 64 bytes goes through a window, `begin` of pageable memory wakes a thread.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from machine import machine_facts

TURNS, SHORTEST_SECONDS = 15, 0.02
SIZES = (64, 4096, 65536, 1 << 20)
CASES = [
    f"{call} {way} {memory} {size}"
    for call in ("copy", "begin", "complete")
    for way in ("h2d", "d2h")
    for memory in ("pageable", "pinned")
    for size in SIZES
]


class Measured:
    """The version of Isthmus that this process imports."""

    def __init__(self) -> None:
        """Allocate memory of each kind."""
        import numpy as np

        import isthmus
        from isthmus import _native

        self.isthmus = isthmus
        driver = _native.Driver.open()
        self.context = _native.Context(driver, 0)
        self.memory = _native.DeviceMemory(self.context, max(SIZES))
        self.stream = _native.Stream(self.context)
        self.hosts = {
            "pageable": np.zeros(max(SIZES), np.uint8),
            "pinned": isthmus.pinned.zeros(max(SIZES), np.uint8),
        }

    def microseconds(self, case: str) -> float:
        """Time a burst, per call. Each copy is complete before the next begins."""
        call, way, memory, size = case.split()
        host = self.hosts[memory][: int(size)]
        device = self.isthmus.DevicePointer(self.memory.pointer, int(size))
        target, source = (device, host) if way == "h2d" else (host, device)
        options = {"stream": self.stream.handle}
        if call == "copy":
            return self.burst(lambda: self.isthmus.copy(target, source, **options), lambda _: None)
        if call == "begin":
            return self.burst(
                lambda: self.isthmus.copy_async(target, source, **options),
                lambda future: future.result(),
            )
        return self.burst(
            lambda: self.isthmus.copy_async(target, source, **options).result(), lambda _: None
        )

    def burst(self, timed: Callable[[], object], after: Callable[[object], object]) -> float:
        """Call for a while; the median of the calls."""
        times = []
        end = time.perf_counter() + SHORTEST_SECONDS
        while time.perf_counter() < end:
            first = time.perf_counter_ns()
            value = timed()
            times.append(time.perf_counter_ns() - first)
            after(value)
        return statistics.median(times) / 1000


def answer() -> None:
    """Measure the requested cases, line by line."""
    measured = Measured()
    for line in sys.stdin:
        print(measured.microseconds(line.strip()), flush=True)


class Version:
    """A process with one of the versions."""

    def __init__(self, folder: str | None) -> None:
        """Start it."""
        environment = dict(os.environ)
        if folder is not None:
            environment["PYTHONPATH"] = folder
        self.process = subprocess.Popen(  # noqa: S603 - this file
            [sys.executable, __file__, "--answer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def microseconds(self, case: str) -> float:
        """Measure a case."""
        if self.process.stdin is None or self.process.stdout is None:
            raise RuntimeError
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def main() -> None:
    """Let the versions take turns."""
    # Not at the top: the other version imports this file, too, and may be older.
    from isthmus.ground.json_text import json_text

    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--before")
    options = parser.parse_args()
    versions = {"now": Version(None)}
    if options.before is not None:
        versions["before"] = Version(options.before)
    medians: dict[str, dict[str, float]] = {}
    for case in CASES:
        turns: dict[str, list[float]] = {name: [] for name in versions}
        for turn in range(TURNS):
            for name in sorted(versions, reverse=turn % 2 == 0):
                turns[name].append(versions[name].microseconds(case))
        medians[case] = {name: round(statistics.median(found), 3) for name, found in turns.items()}
        print(f"{case:<32}", *(f"{name} {us:>9.2f} us" for name, us in medians[case].items()))
    record = {
        "schema_version": 1,
        "machine": machine_facts(),
        "turns": TURNS,
        "unit": "us",
        "medians": medians,
    }
    options.out.write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    answer() if sys.argv[1:] == ["--answer"] else main()
