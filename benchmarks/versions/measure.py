"""
Measures two versions of the library by turns, and says whether the later one is slower.

    python benchmarks/versions/measure.py BEFORE NOW --out FOLDER

BEFORE and NOW are folders with sources, or revisions of this repository. Exits with 1 if a point is
slower by more than --limit percent, the whole of its 95 % interval above, or a process failed. See
README.md.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bench_runs
import copy_turns
import python_calls
from building import PATH_FIRST, Version, build
from ratios import Turns, slower, table

from isthmus.ground.json_text import json_text

ROOT = Path(__file__).resolve().parents[2]
PARTS = (*copy_turns.PARTS, "bench", "python")
MIB = 1 << 20
# Of the time: what the rest takes is Python's.
COPIES_SHARE, BENCH_SHARE = 0.5, 0.3


def parsed() -> argparse.Namespace:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description="Two versions of the library by turns.")
    parser.add_argument("before", metavar="BEFORE", help="folder with sources, or revision")
    parser.add_argument("now", metavar="NOW", help="the same of the version that is examined")
    parser.add_argument("--out", type=Path, required=True, help="folder for builds and results")
    parser.add_argument("--parts", default=",".join(PARTS), help="some of %(default)s")
    parser.add_argument("--limit", type=float, default=2, help="percent (%(default)s)")
    parser.add_argument("--max-mib", type=int, default=256, help="largest copy (%(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=330, help="of measuring, about (%(default)s)"
    )
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    return options


def hold_context(driver: str) -> None:
    """Keep the device's context for as long as this runs, so that no process has to start it."""
    library, context = ctypes.CDLL(driver), ctypes.c_void_p()
    if library.cuInit(0) or library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
        raise SystemExit(f"{driver} has no device")


def machine(version: Version) -> dict[str, Any]:
    """Say what was measured on, by that version."""
    facts = "import json, machine; print(json.dumps(machine.machine_facts()))"
    done = subprocess.run(  # noqa: S603 - this Python
        [sys.executable, "-c", PATH_FIRST + facts],
        # python -c imports from its folder.
        cwd=ROOT / "benchmarks" / "transfer",
        env=version.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def measured(before: Version, now: Version, options: argparse.Namespace) -> Iterator[Turns]:
    """Measure the parts that were asked for, one after the other."""
    emulated = os.environ.get("ISTHMUS_DRIVER", "").startswith("emulated")
    driver = str(now.emulator) if emulated else "libcuda.so.1"
    hold_context(driver)
    if parts := [part for part in copy_turns.PARTS if part in options.parts]:
        seconds = options.seconds * COPIES_SHARE
        processes = copy_turns.Processes(driver, parts, options.max_mib * MIB, seconds)
        yield copy_turns.measure(before, now, processes, options.out / "turns.jsonl")
    if "bench" in options.parts:
        seconds = options.seconds * BENCH_SHARE
        yield bench_runs.measure(before, now, seconds, options.out)
    if "python" in options.parts:
        seconds = options.seconds * (1 - COPIES_SHARE - BENCH_SHARE)
        yield python_calls.measure(before, now, driver, seconds)


def main() -> int:
    """Build, measure, evaluate; give the exit code."""
    options = parsed()
    options.out = options.out.resolve()
    start = time.monotonic()
    before = build(options.before, options.out / "before")
    now = build(options.now, options.out / "now")
    print(f"built in {time.monotonic() - start:.0f} s", flush=True)
    results: list[dict[str, Any]] = []
    failures: list[str] = []
    record = {
        "schema_version": 1,
        "machine": machine(now),
        "before": before.source,
        "now": now.source,
        "limit_percent": options.limit,
        "failures": failures,
        "results": results,
    }
    for turns in measured(before, now, options):
        found = turns.results()
        results += found
        failures += turns.failures
        if found:
            print(table(found), flush=True)
        # After each part: what follows may be stopped.
        (options.out / "result.json").write_text(json_text(record), "utf-8")
    worse = slower(results, options.limit / 100)
    seconds = time.monotonic() - start
    print(
        f"{len(results)} points in {seconds:.0f} s, over {options.limit:g} % slower: {len(worse)}"
    )
    for result in worse:
        print(f"  {result['part']}: {result['point']}")
    for failure in failures:
        print(f"  failed: {failure}")
    return 1 if worse or failures else 0


if __name__ == "__main__":
    sys.exit(main())
