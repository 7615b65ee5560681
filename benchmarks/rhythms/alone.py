"""
Copies after pauses by one library a process, as a program has it; needs a GPU and cudart's wheel.

    python benchmarks/rhythms/alone.py OUT.json [--rounds 9] [--bytes 4 65536] [--only d2h]
        [--former FOLDER]

In measure.py all libraries take turns in one process, so the driver's code, which all of them call,
is in the caches more often than any library's own. Here each contestant has a process, and these
take turns: "isthmus C" (isthmus_copy by ctypes, with addresses), "isthmus" (isthmus.copy of an
array and an address), "cudaMemcpy" and "cuMemcpy" (by ctypes, with addresses). All have memory of
cudaMalloc, and pinned memory of cudaMallocHost.

A copy after a pause takes 16 or 32 us, depending on the process and the core. So each round has new
processes, whose calling threads are bound to one core, another one in each round, and a contestant
is compared with cudaMemcpy round by round: by the median of its copies, and by their mean. FOLDER
has another version of Isthmus (pip install --target), whose contestants are called "former".
"""

import argparse
import ctypes
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from others import DOWN, UP, nvidia_library

import isthmus
from isthmus.ground.json_text import json_text

sys.path.append(str(Path(__file__).parent.parent / "transfer"))
from machine import machine_facts

KIB = 1 << 10
SIZES = (4, KIB, 4 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, 1024 * KIB)
DIRECTIONS = ("h2d", "d2h")
KINDS = ("pageable", "pinned")
RHYTHMS = ("back to back", "spin", "sleep", "gpu")
RIVAL = "cudaMemcpy"
CONTESTANTS = ("isthmus C", "isthmus", RIVAL, "cuMemcpy")
FORMER = {"former C": "isthmus C", "former": "isthmus"}
PAUSE_S = 3e-3
# Of each turn the first copies come after another process has run.
WARM_COPIES, COPIES = 2, 8
PREPARING_COPIES = 2000
WORK_BYTES, WORK_TIMES = 1 << 30, 6  # these memsets take 3 ms on an H100

Cell = tuple[int, str, str, str]


class Worker:
    """One contestant, in this process."""

    def __init__(self, contestant: str) -> None:
        """Take memory."""
        self._contestant = contestant
        self._cudart = ctypes.CDLL(nvidia_library("libcudart.so.*"))
        self._device = self._allocated("cudaMalloc", max(SIZES))
        self._work = self._allocated("cudaMalloc", WORK_BYTES)
        pinned = self._allocated("cudaMallocHost", max(SIZES))
        whole = (ctypes.c_uint8 * max(SIZES)).from_address(pinned)
        self._hosts = {
            "pageable": np.ones(max(SIZES), np.uint8),
            "pinned": np.ctypeslib.as_array(whole),
        }
        self._hosts["pinned"][:] = 1
        package = Path(isthmus.__file__).parent
        self._c_copy = ctypes.CDLL(str(package / "libisthmus.so")).isthmus_copy
        self._memcpy = self._cudart.cudaMemcpy
        self._memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        pointers = [ctypes.c_void_p] * 2
        self._c_copy.argtypes = [*pointers, ctypes.c_size_t, *pointers]
        driver = ctypes.CDLL("libcuda.so.1")
        self._up, self._down = driver.cuMemcpyHtoD_v2, driver.cuMemcpyDtoH_v2
        self._up.argtypes = self._down.argtypes = [*pointers, ctypes.c_size_t]

    def _allocated(self, function: str, size_bytes: int) -> int:
        pointer = ctypes.c_void_p()
        failed = getattr(self._cudart, function)(ctypes.byref(pointer), ctypes.c_size_t(size_bytes))
        if failed or pointer.value is None:
            raise SystemExit(f"{function} failed with {failed}")
        return pointer.value

    def times(self, cell: Cell) -> list[float]:
        """Copy in one rhythm; give the seconds of each copy that counts."""
        size, direction, kind, rhythm = cell
        copy = self._copying(size, kind, up=direction == "h2d")
        pause = self._pauses()[rhythm]
        found = []
        for _ in range(WARM_COPIES + COPIES):
            pause()
            start = time.perf_counter()
            failed = copy()
            found.append(time.perf_counter() - start)
            if failed:
                raise SystemExit(f"{self._contestant}: a copy failed with {failed}")
        return found[WARM_COPIES:]

    def _pauses(self) -> dict[str, Callable[[], object]]:
        def spin() -> None:
            end = time.perf_counter() + PAUSE_S
            while time.perf_counter() < end:
                pass

        def work() -> None:
            for _ in range(WORK_TIMES):
                memset = self._cudart.cudaMemset
                memset(ctypes.c_void_p(self._work), 1, ctypes.c_size_t(WORK_BYTES))
            self._cudart.cudaDeviceSynchronize()

        return {
            "back to back": lambda: None,
            "spin": spin,
            "sleep": lambda: time.sleep(PAUSE_S),
            "gpu": work,
        }

    def _copying(self, size: int, kind: str, *, up: bool) -> Callable[[], object]:
        host = self._hosts[kind][:size]
        ends: tuple[int, int] = (self._device, int(host.ctypes.data))
        if not up:
            ends = ends[::-1]
        if self._contestant == "isthmus C":
            return lambda: self._c_copy(*ends, size, None, None)
        if self._contestant == "cudaMemcpy":
            return lambda: self._memcpy(*ends, size, UP if up else DOWN)
        if self._contestant == "cuMemcpy":
            call = self._up if up else self._down
            return lambda: call(*ends, size)
        device = isthmus.DevicePointer(self._device, size)
        pair = (device, host) if up else (host, device)
        return lambda: isthmus.copy(*pair)

    def prepare(self) -> None:
        """Copy as a program that has run for a while: then a window is open where one pays."""
        for up, kind in product((True, False), KINDS):
            copy = self._copying(min(SIZES), kind, up=up)
            for _ in range(PREPARING_COPIES):
                copy()

    def verify(self) -> None:
        """Check that bytes go up and come back."""
        for size, kind in product(SIZES, KINDS):
            host = self._hosts[kind][:size]
            host[:] = wanted = np.random.default_rng(size).integers(0, 256, size, np.uint8)
            self._copying(size, kind, up=True)()
            host[:] = 0
            self._copying(size, kind, up=False)()
            if not np.array_equal(host, wanted):
                raise SystemExit(f"{self._contestant}: copies of {size} bytes are wrong")


def work_for_parent(contestant: str, core: int) -> None:
    """Answer each line, a cell, by a line with its times."""
    worker = Worker(contestant)
    worker.prepare()
    worker.verify()
    # Only now: the threads that the driver has started would be bound with this one.
    os.sched_setaffinity(0, {core})
    print(json.dumps(isthmus.__file__), flush=True)
    for line in sys.stdin:
        size, direction, kind, rhythm = json.loads(line)
        print(json.dumps(worker.times((size, direction, kind, rhythm))), flush=True)


@dataclass(frozen=True)
class Times:
    """
    What the copies of one process took in one round.

    Attributes:
        median_s: Of a copy that is made again.
        mean_s: The slow ones count, too. No path is chosen anew: a turn is too short.
    """

    median_s: float
    mean_s: float

    @classmethod
    def of(cls, times: list[float]) -> "Times":
        """Summarize them, to 0.1 ns."""
        return cls(round(statistics.median(times), 10), round(statistics.mean(times), 10))


class Process:
    """A contestant in a process of its own."""

    def __init__(self, contestant: str, core: int, former: Path | None) -> None:
        """Begin it. Wait until it is ready before asking it."""
        worker = FORMER.get(contestant, contestant)
        environment = os.environ.copy()
        self._folder = former if contestant in FORMER else None
        if self._folder is not None:
            paths = [str(self._folder), environment.get("PYTHONPATH", "")]
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        command = [sys.executable, __file__, "--worker", worker, "--core", str(core)]
        self._process = subprocess.Popen(  # noqa: S603 - this script
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def wait_until_ready(self) -> None:
        """Wait until it has prepared itself; check which version it is."""
        module = Path(self._answer())
        if self._folder is not None and self._folder.resolve() not in module.resolve().parents:
            raise SystemExit(f"the former version should be in {self._folder}, not {module}")

    def times(self, cell: Cell) -> list[float]:
        """Let it copy."""
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._process.stdin.write(json.dumps(cell) + "\n")
        self._process.stdin.flush()
        return [float(one) for one in self._answer()]

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def _answer(self) -> Any:  # noqa: ANN401 - of JSON
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a contestant ended early; its error is above")
        return json.loads(line)


def times_of_round(
    cells: list[Cell], core: int, former: Path | None
) -> dict[Cell, dict[str, Times]]:
    """Measure the cells once, by new processes."""
    names = CONTESTANTS if former is None else (*CONTESTANTS, *FORMER)
    processes = {name: Process(name, core, former) for name in names}
    for process in processes.values():
        process.wait_until_ready()
    found = {cell: times_of_cell(processes, cell) for cell in cells}
    for process in processes.values():
        process.close()
    return found


def times_of_cell(processes: dict[str, Process], cell: Cell) -> dict[str, Times]:
    """Let each process copy, in a random order."""
    order = random.sample(list(processes), len(processes))
    found = {name: Times.of(processes[name].times(cell)) for name in order}
    return {name: found[name] for name in processes}


def rows_of(cell: Cell, rounds: list[dict[str, Times]]) -> list[dict[str, Any]]:
    """Describe what each contestant took, over the rival and by itself."""
    named = dict(zip(("bytes", "direction", "kind", "rhythm"), cell, strict=True))
    return [
        named
        | {
            "contestant": name,
            "median_s": statistics.median(one[name].median_s for one in rounds),
            "over_rival": statistics.median(
                one[name].median_s / one[RIVAL].median_s for one in rounds
            ),
            "mean_over_rival": statistics.median(
                one[name].mean_s / one[RIVAL].mean_s for one in rounds
            ),
            "rounds_s": [one[name].median_s for one in rounds],
            "rounds_mean_s": [one[name].mean_s for one in rounds],
        }
        for name in rounds[0]
    ]


def show(rows: list[dict[str, Any]]) -> None:
    """Print a cell."""
    first = rows[0]
    where = (first["direction"], first["kind"], first["bytes"], first["rhythm"])
    each = (
        f"{one['contestant']} {one['median_s'] * 1e6:.2f} ({one['over_rival']:.2f})" for one in rows
    )
    print(*where, "us:", *each)


def show_groups(rows: list[dict[str, Any]]) -> None:
    """Print the time over the rival's, as geometric means over sizes and kinds of memory."""
    groups: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    for row in rows:
        sizes = "to 16 KiB" if row["bytes"] <= 16 * KIB else "from 32 KiB"
        group = tuple(map(str, (row["direction"], sizes, row["rhythm"], row["contestant"])))
        groups.setdefault(group, []).append((row["over_rival"], row["mean_over_rival"]))
    for group, ratios in groups.items():
        by_median, by_mean = (statistics.geometric_mean(one) for one in zip(*ratios, strict=True))
        print(*group, f"{by_median:.3f}, by means {by_mean:.3f}")


def main() -> None:
    """Measure all cells, print them and write them."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    arguments.add_argument("out", type=Path, nargs="?")
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--bytes", type=int, nargs="+", default=SIZES, choices=SIZES)
    arguments.add_argument("--only", choices=DIRECTIONS)
    arguments.add_argument("--former", type=Path)
    arguments.add_argument("--worker", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments.add_argument("--core", type=int, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.worker is not None:
        return work_for_parent(options.worker, options.core)
    directions = (options.only,) if options.only else DIRECTIONS
    cells: list[Cell] = list(product(options.bytes, directions, KINDS, RHYTHMS))
    cores = sorted(os.sched_getaffinity(0))
    # The first core has most of the interrupts.
    turns = [cores[-1 - turn % len(cores)] for turn in range(options.rounds)]
    rounds = [times_of_round(cells, core, options.former) for core in turns]
    rows: list[dict[str, Any]] = []
    for cell in cells:
        found = rows_of(cell, [one[cell] for one in rounds])
        show(found)
        rows += found
    show_groups(rows)
    facts = {"machine": machine_facts(), "pause_s": PAUSE_S, "cores": turns, "results": rows}
    if options.out is not None:
        options.out.write_text(json_text(facts), "utf-8")
    return None


if __name__ == "__main__":
    main()
