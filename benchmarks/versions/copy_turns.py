"""Copies of both versions by turns in one process, and in many such processes."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from building import Version
from ratios import Failed, Point, Turn, Turns, last_line, rounds

PARTS = ("copies", "windows", "paths", "async", "pool")
# Of the versions in each process: with other threads and other memory each time.
_NUM_LIVES = 3
_BEFORE, _AGAIN, _NOW = range(3)


@dataclass(frozen=True)
class Processes:
    """
    How much is measured.

    Attributes:
        driver: For dlopen.
        parts: Of `PARTS`.
        max_bytes: The largest copy.
        max_seconds: No process begins later.
    """

    driver: str
    parts: list[str]
    max_bytes: int
    max_seconds: float


def measure(before: Version, now: Version, processes: Processes, raw: Path) -> Turns:
    """
    Let the versions take turns, the one before twice.

    Args:
        before: The version before.
        now: The version that is examined.
        processes: How many, and of what.
        raw: For what each process printed.
    """
    # A copy: dlopen gives a file that is open already once more.
    again = before.library.with_name("turns_again.so")
    shutil.copy(before.library, again)
    libraries = [before.library, again, now.library]
    turns = Turns()
    with raw.open("w") as file:
        for number in rounds(processes.max_seconds):
            # Whoever is loaded first may lie better in memory: each is as often.
            order = [(number + place) % len(libraries) for place in range(len(libraries))]
            with turns.one_round():
                for row in _run(now.turns, processes, [libraries[i] for i in order]):
                    row["process"] = number
                    row["ns"] = [row["ns"][order.index(i)] for i in range(len(libraries))]
                    file.write(json.dumps(row) + "\n")
                    _add(turns, row)
    return turns


def _run(program: Path, processes: Processes, libraries: list[Path]) -> list[dict[str, Any]]:
    # All versions have one driver. Without a profile they choose paths by their defaults.
    source = processes.driver if "/" in processes.driver else "system"
    done = subprocess.run(  # noqa: S603 - built here
        [
            *(program, processes.driver, ",".join(processes.parts)),
            *(str(_NUM_LIVES), str(processes.max_bytes)),
            *libraries,
        ],
        env=dict(os.environ, ISTHMUS_DRIVER=source, ISTHMUS_PROFILE="off"),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Failed(f"turns ended with {done.returncode}: {last_line(done.stderr)}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _add(turns: Turns, row: dict[str, Any]) -> None:
    times = row["ns"]
    turns.of[Point(row["part"], row["point"], row["bytes"])].append(
        Turn(
            group=row["process"],
            before=times[_BEFORE][0],
            again=times[_AGAIN][0],
            now=times[_NOW][0],
            minima=(times[_BEFORE][1], times[_AGAIN][1], times[_NOW][1]),
        )
    )
