"""`isthmus bench` of both versions by turns: what rebuilding the measurements did to figures."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from building import PATH_FIRST, Version
from ratios import Failed, Point, Turn, Turns, last_line, rounds

from isthmus.ground.sizes import format_size

# Each holds its stream behind a gate, and each kind of loop is there once.
TESTS = (
    "host_to_device_memcpy_ce",
    "device_to_host_memcpy_ce",
    "host_to_device_memcpy_pageable",
    "device_to_host_memcpy_sm",
    "duplex_memcpy_ce",
    "host_to_device_memcpy_streams",
    "host_to_device_many_copies_loop",
    "host_to_device_small_copy_async",
    "device_to_host_small_copy_async",
    "host_to_device_small_copy_graph",
)
_SIZES = "4KiB,1MiB,64MiB"
_BUDGET_SECONDS = "3"
_START = "from isthmus.cli.startup import main; main()"


def measure(before: Version, now: Version, max_seconds: float, folder: Path) -> Turns:
    """
    Run the version before, the same again as a control, and the version now, in each round.

    Args:
        before: The version before.
        now: The version that is examined.
        max_seconds: No round of three runs begins later.
        folder: For the runs.
    """
    turns = Turns()
    versions = (before, before, now)
    for number in rounds(max_seconds):
        runs: dict[int, dict[Point, float]] = {}
        with turns.one_round():
            for place in range(len(versions)):
                i = (number + place) % len(versions)
                runs[i] = _run(versions[i], folder / f"bench_{number}_{i}.json")
            for point in runs[0]:
                if all(point in run for run in runs.values()):
                    times = (runs[0][point], runs[1][point], runs[2][point])
                    turns.of[point].append(Turn(number, *times, minima=times))
    return turns


def _run(version: Version, out: Path) -> dict[Point, float]:
    """Give the nanoseconds of each result; of a bandwidth, those of one call."""
    out.unlink(missing_ok=True)
    tests = [argument for test in TESTS for argument in ("-t", test)]
    done = subprocess.run(  # noqa: S603 - built here
        [
            *(
                sys.executable,
                "-c",
                PATH_FIRST + _START,
                "bench",
                *tests,
                "--sizes",
                "4KiB,1MiB,64MiB",
            ),
            *("--budget", _BUDGET_SECONDS, "--output", out),
        ],
        env=version.environment(XDG_DATA_HOME=str(out.parent)),
        capture_output=True,
        text=True,
        check=False,
    )
    if not out.exists():
        raise Failed(f"isthmus bench of {version.source}: {last_line(done.stderr)}")
    run: dict[str, Any] = json.loads(out.read_text("utf-8"))
    return {
        _point(result): _nanoseconds(result)
        for result in run["results"]
        if result["status"] == "passed" and result["median"]
    }


def _point(result: dict[str, Any]) -> Point:
    test = result["test"].replace("host_to_device", "h2d").replace("device_to_host", "d2h")
    about = [f"{test} {format_size(result['bytes'])}"]
    about += [result["metric"]] if result["metric"] != "bandwidth" else []
    about += [f"{name} {value}" for name, value in result["axes"].items()]
    # Not the bytes: what is timed isn't one small copy.
    return Point("bench", ", ".join(about), 0)


def _nanoseconds(result: dict[str, Any]) -> float:
    if result["unit"] == "B/s":
        return float(result["bytes"] / result["median"] * 1e9)
    return float(result["median"] * 1e9)
