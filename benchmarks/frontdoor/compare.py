"""
How often `isthmus compare` is wrong: pairs of unchanged runs, and runs with an injected loss.

    python benchmarks/frontdoor/compare.py --out FILE        # a GPU: as many pairs as fit in 40 s
    python benchmarks/frontdoor/compare.py --pairs 20 --repeat 5 --seconds 9999 --runs FOLDER

Each run is one `isthmus bench --repeat N` of the tests below, as a user would start it. Runs are
made one after the other; run 1 and 2 are the first pair, run 3 and 4 the second. After the first
pair, no run begins that wouldn't end within --seconds. FOLDER keeps the runs, and a later call
continues there.

- false alarms: comparisons of unchanged runs that call any family slower. Of the pairs; of every
  earlier with every later run; and of single processes, as if nothing had been repeated.
- power: in the later run of a pair, the recorded bandwidth of each process is multiplied by 0.9 for
  all copies between pinned memory and the device. That loss is found if a comparison calls the
  family of pinned copies of 1 MiB and more slower. H2D and D2H count separately. Also: how often
  each family, with its own noise, finds the loss that its comparison says it finds.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import log1p
from pathlib import Path
from typing import Any

from isthmus.ground.json_text import json_text
from isthmus.measure.compare.comparison import TOLERANCE, compare
from isthmus.measure.compare.judging import FALSE_ALARMS, POWER, Verdict
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import read_run
from isthmus.measure.run.result import Result

TESTS = (
    *("host_to_device_memcpy_ce", "device_to_host_memcpy_ce"),
    *("host_to_device_memcpy_sm", "device_to_host_memcpy_sm"),
    *("host_to_device_memcpy_pageable", "device_to_host_memcpy_pageable"),
    *("host_to_device_memcpy_registered", "device_to_host_memcpy_registered"),
    *("host_to_device_small_copy_async", "device_to_host_small_copy_async"),
    *("host_to_device_small_copy_window", "device_to_host_small_copy_window"),
    *("window_write", "window_read", "window_bandwidth_write", "duplex_memcpy_ce"),
)
SIZES = "4,4KiB,64KiB,1MiB,4MiB,16MiB"
LOSS = 0.1
_FEWEST = 2
FAMILY = "pinned copies of 1 MiB and more"


def parsed() -> argparse.Namespace:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description="How often isthmus compare is wrong.")
    parser.add_argument("--device", help="as for isthmus bench")
    parser.add_argument("--pairs", type=int, default=2, help="pairs of runs (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="processes a run (%(default)s)")
    parser.add_argument("--budget", type=float, default=0.5, help="seconds a process (%(default)s)")
    parser.add_argument("--seconds", type=float, default=36, help="for all runs (%(default)s)")
    parser.add_argument("--runs", type=Path, help="a folder that keeps the runs")
    parser.add_argument("--out", type=Path, help="a file for the result")
    return parser.parse_args()


def collect(folder: Path, options: argparse.Namespace) -> tuple[list[Run], list[dict[str, Any]]]:
    """Make the runs that the folder lacks; give all, and the host's load during the new ones."""
    device = ["--device", options.device] if options.device else []
    command = [sys.executable, "-m", "isthmus", "bench", *device, "--sizes", SIZES]
    command += [part for test in TESTS for part in ("-t", test)]
    command += ["--repeat", str(options.repeat), "--budget", f"{options.budget:g}"]
    files = [folder / f"{number:03}.json" for number in range(2 * options.pairs)]
    loads: list[dict[str, Any]] = []
    begun = time.monotonic()
    for file in files:
        if file.exists():
            continue
        started = time.monotonic()
        longest_s = max((load["seconds"] for load in loads), default=0.0)
        if len(loads) >= _FEWEST and started - begun + longest_s > options.seconds:
            break
        done = subprocess.run(  # noqa: S603 - this program
            [*command, "-o", str(file), "--format", "csv"],
            env=os.environ | {"XDG_DATA_HOME": str(folder / "kept")},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"isthmus bench failed: {done.stderr[-2000:]}")
        seconds = time.monotonic() - started
        loads.append({"run": file.stem, "seconds": seconds, "load_average": os.getloadavg()[0]})
        print(f"{file.stem}: {seconds:.1f} s, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return [read_run(str(file)) for file in files if file.exists()], loads


def single(run: Run, process: int) -> Run:
    """Give the run that one process of a repeated run would have been."""

    def one(result: Result) -> dict[str, Any]:
        # Without repeats it was derived.
        own = result.repeats[process] if result.repeats else result.median
        return {"median": own, "repeats": None, "drift": None}

    return changed(run, one)


def slowed(run: Run) -> Run:
    """Give a run in which all copies from and to pinned memory have lost a tenth."""

    def lose(result: Result) -> dict[str, Any]:
        if result.unit != "B/s" or result.host_memory != "pinned":
            return {}
        repeats = result.repeats and [r and r * (1 - LOSS) for r in result.repeats]
        return {"median": (result.median or 0) * (1 - LOSS), "repeats": repeats}

    return changed(run, lose)


def changed(run: Run, change: Any) -> Run:  # noqa: ANN401 - a function of a result
    """Change the results that passed."""
    results = [r.model_copy(update=change(r)) if r.median else r for r in run.results]
    return run.model_copy(
        update={"results": [r for r in results if r.median or r.reason or r.error]}
    )


def alarms(pairs: Iterable[tuple[Run, Run]]) -> dict[str, Any]:
    """Count comparisons of unchanged runs that find a change."""
    slower: Counter[str] = Counter()
    faster: Counter[str] = Counter()
    num = num_slower = num_faster = num_families = 0
    for before, after in pairs:
        judgements = compare(before, after).judgements
        found = {j.family.name for j in judgements if j.verdict == Verdict.SLOWER}
        gained = {j.family.name for j in judgements if j.verdict == Verdict.FASTER}
        slower.update(found)
        faster.update(gained)
        num, num_slower, num_faster = num + 1, num_slower + bool(found), num_faster + bool(gained)
        num_families = max(num_families, len(judgements))
    return {
        "comparisons": num,
        "families": num_families,
        "false_slower": num_slower,
        "false_faster": num_faster,
        "slower_families": dict(slower),
        "faster_families": dict(faster),
    }


def power(pairs: Iterable[tuple[Run, Run]]) -> dict[str, Any]:
    """Count injected losses that are found."""
    num = found = 0
    for before, after in pairs:
        for judgement in compare(before, slowed(after)).judgements:
            if judgement.family.name.startswith(FAMILY):
                num, found = num + 1, found + (judgement.verdict == Verdict.SLOWER)
    return {"losses": num, "found": found}


def said_power(pairs: Iterable[tuple[Run, Run]]) -> dict[str, Any]:
    """
    Count how often each family finds the loss that its comparison says it finds.

    The loss is added to the later run's cost; the noise of the pair is as it was measured. It is
    found if it is certain enough for the strictest of Holm's steps.
    """
    num = found = 0
    for before, after in pairs:
        for judgement in compare(before, after).judgements:
            enough = max(judgement.reach, log1p(TOLERANCE))
            num, found = num + 1, found + (judgement.shift + judgement.finds > enough)
    return {"losses": num, "found": found}


def families(pairs: Sequence[tuple[Run, Run]]) -> list[dict[str, Any]]:
    """Give each family's largest shift, drift and reach in the pairs, in percent."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for before, after in pairs:
        for j in compare(before, after).judgements:
            rows.setdefault(f"{j.family.name} ({j.family.clock})", []).append(
                (abs(j.change), j.drift, j.found_from)
            )
    return [
        {
            "family": name,
            "median_change": sorted(c for c, _, _ in found)[len(found) // 2],
            "largest_change": max(c for c, _, _ in found),
            "median_drift": sorted(d for _, d, _ in found)[len(found) // 2],
            "largest_drift": max(d for _, d, _ in found),
            "median_finds": sorted(f for _, _, f in found)[len(found) // 2],
        }
        for name, found in rows.items()
    ]


def study(runs: Sequence[Run]) -> dict[str, Any]:
    """Judge runs that measured the same unchanged program."""
    pairs = list(zip(runs[::2], runs[1::2], strict=False))
    processes = range(min(len(r.repeats) for run in runs for r in run.results if r.repeats))
    alone = [(single(a, p), single(b, p)) for a, b in pairs for p in processes]
    return {
        "stated": {"false_alarms_at_most": FALSE_ALARMS, "loss": LOSS, "found_at_least": POWER},
        "pairs": alarms(pairs),
        "every_earlier_with_every_later": alarms(combinations(runs, 2)),
        "single_processes": alarms(alone),
        "power": power(pairs),
        "power_of_every_pair": power(combinations(runs, 2)),
        "power_of_single_processes": power(alone),
        "losses_that_are_said_to_be_found": said_power(pairs),
        "the_same_of_every_pair": said_power(combinations(runs, 2)),
        "families": families(pairs),
    }


def main() -> int:
    """Collect, judge, print and store."""
    options = parsed()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.runs or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        runs, loads = collect(folder, options)
    machine = runs[0].machine
    result = {
        "method": {
            "tests": list(TESTS),
            "sizes": SIZES,
            "runs": len(runs),
            "repeat": options.repeat,
            "budget_s": options.budget,
            "injected": f"recorded bandwidths of pinned copies times {1 - LOSS:g}, each process",
        },
        "machine": {
            "emulated": machine.emulated,
            "device": machine.device.name,
            "driver": machine.driver.driver_version,
            "cpu": machine.host.cpu_model,
            "num_cpus": machine.host.num_cpus,
        },
        **study(runs),
        "runs": loads,
    }
    text = json_text(result)
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    return int(result["pairs"]["false_slower"] > 0)


if __name__ == "__main__":
    sys.exit(main())
