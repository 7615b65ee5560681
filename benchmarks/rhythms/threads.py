"""
Time and CPU time of staged copies by the number of threads, beside PyTorch; needs a GPU.

    isthmus profile -o PROFILE.json
    python benchmarks/rhythms/threads.py PROFILE.json OUT.json [--threads 4 5 6 8 10 14]
        [--mib 1 4 16 64 256] [--directions h2d d2h] [--rounds 3]

Copies from and to pageable memory, back to back and after 3 ms of sleep. For each number of threads
a process reads a copy of the profile that names this number for both directions. In each round each
number has a new process, and in it Isthmus and PyTorch take turns; the median of the rounds counts.
Copies that the profile gives to another path aren't staged, and short ones have few threads anyway.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import DIRECTIONS, MIB, PAUSE_S, Row, cpu_of, pairs_at_rest
from others import Libraries, Pair

from isthmus.ground.json_text import json_text

sys.path.append(str(Path(__file__).parent.parent / "transfer"))
from machine import machine_facts

SIZES_MIB = (1, 4, 16, 64, 256)
TURNS = 3
TURN_S = 0.06
VALUES = ("median_s", "mean_s", "cpu_s")


def turn(pair: Pair, count: int, pause_s: float) -> dict[str, float]:
    """Give the median and the mean of some copies' seconds, and the mean of their CPU seconds."""
    target = pair.prepare()
    elapsed_s = []

    def copy(_: object) -> None:
        start = time.perf_counter()
        pair.copy(target)
        elapsed_s.append(time.perf_counter() - start)

    used_s = cpu_of(copy, None, count, pause_s)
    return {
        "median_s": statistics.median(elapsed_s),
        "mean_s": statistics.mean(elapsed_s),
        "cpu_s": used_s,
    }


def medians(measured: Sequence[Row]) -> Row:
    """Give the median of each value."""
    return {value: statistics.median(one[value] for one in measured) for value in VALUES}


def rows_of(libraries: Libraries, size: int, direction: str, pause_s: float) -> list[Row]:
    """Measure one copy by both libraries."""
    pairs, guesses = pairs_at_rest(libraries, size, direction, "pageable")
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in pairs}
    for _ in range(TURNS):
        for name, pair in pairs.items():
            count = max(3, int(TURN_S / (guesses[name] + pause_s)))
            turns[name].append(turn(pair, count, pause_s))
    rhythm = "sleep" if pause_s > 0 else "back to back"
    return [
        {
            "direction": direction,
            "bytes": size,
            "rhythm": rhythm,
            "contestant": name,
        }
        | medians(each)
        for name, each in turns.items()
    ]


def measure_here(sizes: Sequence[int], directions: Sequence[str]) -> list[Row]:
    """Measure all copies in this process."""
    libraries = Libraries(max(sizes))
    cells = product(sizes, directions, (0.0, PAUSE_S))
    return [row for cell in cells for row in rows_of(libraries, *cell)]


def measure_with(profile: dict[str, Any], threads: int, arguments: Sequence[str]) -> list[Row]:
    """Measure in a process that stages with this number of threads."""
    changed = profile | {"staging_threads": {"h2d": threads, "d2h": threads}}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        path.write_text(json_text(changed), "utf-8")
        done = subprocess.run(  # noqa: S603 - this script
            [sys.executable, __file__, "--here", *arguments],
            env=os.environ | {"ISTHMUS_PROFILE": str(path)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    rows: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return [row | {"threads": threads} for row in rows]


def show(rows: list[Row]) -> None:
    """Print rates, CPU times, and both over PyTorch's in the same processes."""
    cells: dict[tuple[Any, ...], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        cell = tuple(row[name] for name in ("direction", "bytes", "rhythm", "threads"))
        cells[cell][row["contestant"]] = row
    for cell, one in sorted(cells.items()):
        ours = one["isthmus"]
        print(*cell, f"{cell[1] / ours['median_s'] / 1e9:.1f} GB/s, {ours['cpu_s'] * 1e3:.2f} ms")
        if "torch" in one:
            times = (ours[value] / one["torch"][value] for value in VALUES)
            print("    over PyTorch's: median {:.2f}, mean {:.2f}, CPU time {:.2f}".format(*times))


def main() -> None:
    """Measure, print and write."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    arguments.add_argument("files", type=Path, nargs="*", metavar="PROFILE.json OUT.json")
    arguments.add_argument("--threads", type=int, nargs="+", default=[4, 5, 6, 8, 10, 14])
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--mib", type=int, nargs="+", default=SIZES_MIB)
    arguments.add_argument("--directions", nargs="+", choices=DIRECTIONS, default=DIRECTIONS)
    arguments.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.here:
        sizes = [mib * MIB for mib in options.mib]
        print(json.dumps(measure_here(sizes, options.directions)))
        return
    if len(options.files) != 2:  # noqa: PLR2004 - two files
        arguments.error("name a profile, and a file for the result")
    profile_path, out = options.files
    profile = json.loads(profile_path.read_text("utf-8"))
    same = ["--mib", *map(str, options.mib), "--directions", *options.directions]
    rounds = [
        [row for threads in options.threads for row in measure_with(profile, threads, same)]
        for _ in range(options.rounds)
    ]
    rows = [each[0] | medians(each) for each in zip(*rounds, strict=True)]
    show(rows)
    record = {"schema_version": 1, "machine": machine_facts(), "results": rows}
    out.write_text(json_text(record), "utf-8")


if __name__ == "__main__":
    main()
