"""
The same copy in four rhythms, by every installed library, in turns, in one process.

    python benchmarks/rhythms/measure.py OUT.json [--seconds 110] [--max-mib 1024] [--times 1]
        [--kinds pageable pinned fresh shared file]

Back to back, and after 3 ms of spinning, of sleep, of work of the GPU. Libraries that are not
installed are left out. Isthmus's copy is verified for each size, direction and kind of memory.
--times multiplies the rounds.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from others import Libraries, Pair

import isthmus
from isthmus.ground.json_text import json_text

sys.path.append(str(Path(__file__).parent.parent / "transfer"))
from machine import machine_facts
from stolen_cpus import StolenCpus

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
# The sizes that lose most come first: a time that is too short costs the others.
SIZES = (
    *(64 * KIB, 256 * KIB, 16 * KIB, 4, KIB, 4 * KIB, 32 * KIB, 128 * KIB),
    *(MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, GIB),
)
DIRECTIONS = ("h2d", "d2h")
KINDS = ("pageable", "pinned", "fresh", "shared", "file")
# Shorter copies of shared memory and files cost what their calls cost, longer ones are staged.
MIN_SHARED, MAX_SHARED = 64 * KIB, 64 * MIB
# The C library keeps smaller memory with its pages, so programs seldom get it fresh.
MIN_FRESH, MAX_FRESH = 256 * KIB, 256 * MIB
PAUSE_S = 3e-3
BURST_S = 300e-6
MAX_BURST = 50
CPU_KINDS = ("pageable", "pinned")  # whose times are predicted, too
CPU_SIZES = (64 * KIB, MIB, 16 * MIB, 64 * MIB, 256 * MIB)
# Of each turn; the median of the turns counts.
CPU_S = 0.12
CPU_TURNS = 3
SETTLE_S = 0.1
IDLE_AFTER_S, IDLE_S = 0.05, 0.2

# Of an interval that has 95 % of the ratios of medians, whole rounds drawn with replacement.
NUM_DRAWS = 2000

# Who does the same, from the same kind of array.
RIVALS = {"isthmus": ("torch", "cupy"), "isthmus pointer": ("cudaMemcpy",)}

Row = dict[str, Any]


def is_measured(kind: str, size: int) -> bool:
    """Say whether a kind of memory is measured at a size."""
    if kind == "fresh":
        return MIN_FRESH <= size <= MAX_FRESH
    return kind in CPU_KINDS or MIN_SHARED <= size <= MAX_SHARED


def rounds_of(size: int) -> int:
    """Say how often each library has its turn."""
    if size <= MIB:
        return 15
    return 9 if size <= 16 * MIB else 5 if size <= 64 * MIB else 3


def spin() -> None:
    """Occupy this thread."""
    end = time.perf_counter() + PAUSE_S
    while time.perf_counter() < end:
        pass


def gaps(libraries: Libraries) -> dict[str, Callable[[], None] | None]:
    """List what happens between two copies; None: nothing."""
    found: dict[str, Callable[[], None] | None] = {
        "back to back": None,
        "spin": spin,
        "sleep": lambda: time.sleep(PAUSE_S),
    }
    if libraries.work is not None:
        found["gpu"] = lambda: libraries.work(PAUSE_S)
    return found


def once(pair: Pair) -> float:
    """Time one copy."""
    target = pair.prepare()
    start = time.perf_counter()
    pair.copy(target)
    return time.perf_counter() - start


def burst(pair: Pair, guess_s: float) -> float:
    """Time copies that follow each other, after some that aren't timed."""
    count = max(2, min(MAX_BURST, int(BURST_S / guess_s)))
    for _ in range(2 if guess_s > BURST_S else 1 + count // 3):
        pair.copy(pair.prepare())
    targets = [pair.prepare() for _ in range(count if guess_s < BURST_S else 1)]
    start = time.perf_counter()
    for target in targets:
        pair.copy(target)
    return (time.perf_counter() - start) / len(targets)


def uses() -> dict[str, tuple[float, float]]:
    """Give the actual and the predicted seconds of each path so far."""
    return {
        path: (use.seconds, use.predicted_seconds) for path, use in isthmus.stats().paths.items()
    }


def spent(before: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Give what was added since."""
    now = uses()
    added = {path: (now[path][0] - before[path][0], now[path][1] - before[path][1]) for path in now}
    return {path: one for path, one in added.items() if one[0] > 0}


def take_turns(
    pairs: dict[str, Pair], gap: Callable[[], None] | None, rounds: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Copy with each library in turns; also give Isthmus's actual and predicted time by path."""
    guesses = {name: min(once(pair) for _ in range(3)) for name, pair in pairs.items()}
    times: dict[str, list[float]] = {name: [] for name in pairs}
    paths: dict[str, list[float]] = {}
    names = list(pairs)
    # Another order in each round: a copy behind one of ours finds our threads awake more often.
    order = random.Random(0)  # noqa: S311 - the same orders each time
    for _ in range(rounds):
        order.shuffle(names)
        for name in names:
            before = uses() if name.startswith("isthmus") else {}
            if gap is None:
                times[name].append(burst(pairs[name], guesses[name]))
            else:
                gap()
                times[name].append(once(pairs[name]))
            for path, (actual, predicted) in spent(before).items() if before else ():
                total = paths.setdefault(path, [0.0, 0.0])
                total[0] += actual
                total[1] += predicted
    return times, paths


def at_least(ours: Sequence[float], rival: Sequence[float]) -> float:
    """Give the lower end of the interval of our median over a rival's; both by round."""
    drawn = np.random.default_rng(0).integers(0, len(ours), (NUM_DRAWS, len(ours)))
    medians = [np.median(np.array(times)[drawn], axis=1) for times in (ours, rival)]
    return float(np.quantile(medians[0] / medians[1], 0.025))


def rows_of(
    libraries: Libraries, size: int, direction: str, kind: str, times_more: int
) -> list[Row]:
    """Measure one size, direction and kind of memory in all rhythms."""
    pairs = libraries.pairs(size, direction, kind)
    libraries.verify(pairs["isthmus"], size, direction)
    rows = []
    for rhythm, gap in gaps(libraries).items():
        times, paths = take_turns(pairs, gap, times_more * rounds_of(size))
        for name, seconds in times.items():
            ordered = sorted(seconds)
            row: Row = {
                "direction": direction,
                "kind": kind,
                "bytes": size,
                "rhythm": rhythm,
                "contestant": name,
                "median_s": statistics.median(ordered),
                "low_s": ordered[len(ordered) // 4],
                "high_s": ordered[-1 - len(ordered) // 4],
                "n": len(ordered),
            }
            rivals = [other for other in RIVALS.get(name, ()) if other in times]
            row["over_rival_at_least"] = {
                other: at_least(seconds, times[other]) for other in rivals
            }
            if name == "isthmus":
                row["paths"] = {
                    path: {"actual_s": one[0], "predicted_s": one[1]} for path, one in paths.items()
                }
            rows.append(row)
    return rows


def cpu_rows(libraries: Libraries, size: int, direction: str, kind: str) -> list[Row]:
    """Measure the CPU time of copies, in all threads of this process."""
    pairs, guesses = pairs_at_rest(libraries, size, direction, kind)
    rows = []
    for rhythm in ("back to back", "sleep"):
        pause_s = PAUSE_S if rhythm == "sleep" else 0.0
        before = uses()
        seconds: dict[str, list[float]] = {name: [] for name in pairs}
        for _ in range(CPU_TURNS):
            for name, pair in pairs.items():
                count = max(3, int(CPU_S / (guesses[name] + pause_s)))
                seconds[name].append(cpu_of(pair.copy, pair.prepare(), count, pause_s))
        paths = "+".join(spent(before))
        rows += [
            {
                "direction": direction,
                "kind": kind,
                "bytes": size,
                "rhythm": rhythm,
                "contestant": name,
                "cpu_s_per_gb": statistics.median(each) / size * 1e9,
                "paths": paths if name == "isthmus" else "",
            }
            for name, each in seconds.items()
        ]
    return rows


def pairs_at_rest(
    libraries: Libraries, size: int, direction: str, kind: str
) -> tuple[dict[str, Pair], dict[str, float]]:
    """Give the same copy by Isthmus and PyTorch, once nothing else runs; and what each takes."""
    found = libraries.pairs(size, direction, kind)
    pairs = {name: found[name] for name in ("isthmus", "torch") if name in found}
    guesses = {name: min(once(pair) for _ in range(3)) for name, pair in pairs.items()}
    # PyTorch's threads spin for a while after they have filled memory, whoever copies then.
    time.sleep(SETTLE_S)
    return pairs, guesses


def cpu_of(copy: Callable[[Any], object], target: object, count: int, pause_s: float) -> float:
    """Give the CPU seconds of one copy, in the mean of some, each after a pause; without these."""
    used_s = process_s(copy, target, count, pause_s)
    if pause_s > 0:
        used_s -= process_s(lambda _: None, None, count, pause_s)
    return used_s / count


def process_s(copy: Callable[[Any], object], target: object, count: int, pause_s: float) -> float:
    """Give the CPU seconds of some copies and the pauses before them."""
    start = time.process_time()
    for _ in range(count):
        if pause_s > 0:
            time.sleep(pause_s)
        copy(target)
    return time.process_time() - start


def idle_rows(libraries: Libraries, sizes: list[int]) -> list[Row]:
    """Measure the CPU time that is used from 50 ms after the last copy on."""
    rows = []
    for size in (256 * KIB, 64 * MIB):
        if size not in sizes:
            continue
        pair = libraries.pairs(size, "d2h", "pageable")["isthmus"]
        for _ in range(5):
            pair.copy(pair.prepare())
        time.sleep(IDLE_AFTER_S)
        start = time.process_time()
        time.sleep(IDLE_S)
        used = time.process_time() - start
        rows.append({"bytes": size, "after_s": IDLE_AFTER_S, "for_s": IDLE_S, "cpu_s": used})
    return rows


def show(rows: list[Row]) -> None:
    """Print the times; each of Isthmus's two beside the best of those that do the same."""
    cells: dict[tuple[Any, ...], dict[str, Row]] = {}
    for row in rows:
        key = (row["direction"], row["kind"], row["bytes"], row["rhythm"])
        cells.setdefault(key, {})[row["contestant"]] = row
    for key, cell in cells.items():
        text = " ".join(f"{name} {row['median_s'] * 1e6:.2f}" for name, row in cell.items())
        losses = [loss for name, others in RIVALS.items() if (loss := lost(cell, name, others))]
        paths = " ".join(
            f"{path} {one['predicted_s'] / one['actual_s']:.2f}"
            for path, one in cell["isthmus"]["paths"].items()
        )
        print(*key, "us:", text, "|", paths, "| slower:" if losses else "", *losses)


def lost(cell: dict[str, Row], name: str, others: Sequence[str]) -> str:
    """Name it if it is slower than the best of the others by more than 5 % and 0.5 us."""
    medians = {other: cell[other]["median_s"] for other in others if other in cell}
    if name not in cell or not medians:
        return ""
    best = min(medians, key=lambda other: medians[other])
    ours_s = cell[name]["median_s"]
    if medians[best] >= min(ours_s / 1.05, ours_s - 0.5e-6):
        return ""
    surely = cell[name]["over_rival_at_least"][best] > 1
    return f"{name}{' (surely slower)' if surely else ''}"


def show_predictions(rows: list[Row]) -> None:
    """Print what `isthmus.stats()` would say of each way in each rhythm: sums over all sizes."""
    sums: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        for path, one in row.get("paths", {}).items() if row["kind"] in CPU_KINDS else ():
            total = sums.setdefault((path, row["rhythm"]), [0.0, 0.0])
            total[0] += one["actual_s"]
            total[1] += one["predicted_s"]
    for (path, rhythm), (actual_s, predicted_s) in sorted(sums.items()):
        print(f"predicted over actual, {path}, {rhythm}: {predicted_s / actual_s:.2f}")


def main() -> None:
    """Measure, print and write."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--seconds", type=float, default=110)
    arguments.add_argument("--max-mib", type=int, default=1024)
    arguments.add_argument("--times", type=int, default=1)
    arguments.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    options = arguments.parse_args()
    end = time.perf_counter() + options.seconds
    sizes = [size for size in SIZES if size <= options.max_mib * MIB]
    libraries = Libraries(max(sizes))
    cpu = [
        row
        for size, direction, kind in product(CPU_SIZES, DIRECTIONS, CPU_KINDS)
        if size in sizes
        for row in cpu_rows(libraries, size, direction, kind)
    ]
    idle = idle_rows(libraries, sizes)
    rows: list[Row] = []
    stolen: list[Row] = []
    left_out = []
    for size in sizes:
        if time.perf_counter() > end:
            left_out.append(size)
            continue
        for direction, kind in product(DIRECTIONS, options.kinds):
            if is_measured(kind, size):
                cpus = StolenCpus()
                rows += rows_of(libraries, size, direction, kind, options.times)
                of = {"direction": direction, "kind": kind, "bytes": size}
                stolen.append(of | {"stolen_cpus": cpus.mean()})
    record = {
        "schema_version": 1,
        "machine": machine_facts(),
        "pause_s": PAUSE_S,
        "left_out": left_out,
        "results": rows,
        "cpu": cpu,
        "idle": idle,
        "stolen": stolen,
    }
    options.out.write_text(json_text(record), "utf-8")
    show(rows)
    show_predictions(rows)
    for row in (*cpu, *idle, *stolen):
        print(*row.values())


if __name__ == "__main__":
    main()
