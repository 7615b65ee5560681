"""
Small copies called from Python, by both versions in turns.

Each version has a process of its own, which times a statement when it is asked to. They are started
anew some times: how fast one process is differs more than the versions do.
"""

import json
import statistics
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from building import Version
from python_worker import SIZE_BYTES
from ratios import Failed, Point, Turn, Turns, rounds

_NUM_TURNS = 12
_PROGRAM = Path(__file__).with_name("python_worker.py")


class Worker:
    """A process with one of the versions."""

    def __init__(self, version: Version, driver: str) -> None:
        """Start it; it takes a while until it answers."""
        self._version = version
        source = driver if "/" in driver else "system"
        self._process = subprocess.Popen(  # noqa: S603 - beside this file
            [sys.executable, _PROGRAM, driver],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=version.environment(ISTHMUS_DRIVER=source),
        )

    def statements(self) -> list[str]:
        """Give what it can time."""
        file, names = json.loads(self._line())
        if not Path(file).is_relative_to(self._version.package):
            raise SystemExit(f"isthmus was imported from {file}, not {self._version.package}")
        return [str(name) for name in names]

    def nanoseconds(self, statement: str) -> float:
        """Let it measure."""
        # Where it has ended, there is no answer either, and that is told.
        with suppress(BrokenPipeError):
            if self._process.stdin:
                self._process.stdin.write(statement + "\n")
                self._process.stdin.flush()
        return float(self._line())

    def stop(self) -> None:
        """End it."""
        self._process.communicate()

    def _line(self) -> str:
        text = self._process.stdout.readline() if self._process.stdout else ""
        if not text:
            raise Failed(f"Python with {self._version.source} ended: {self._process.wait()}")
        return text


def measure(before: Version, now: Version, driver: str, max_seconds: float) -> Turns:
    """
    Let the versions take turns, the one before twice.

    Args:
        before: The version before.
        now: The version that is examined.
        driver: For dlopen.
        max_seconds: The processes are started no more after these.
    """
    turns = Turns()
    for start in rounds(max_seconds):
        workers = [Worker(version, driver) for version in (before, before, now)]
        with turns.one_round():
            # A version may lack a kind of array.
            known = [worker.statements() for worker in workers]
            for statement in known[0]:
                if all(statement in names for names in known):
                    turns.of[Point("python", statement, SIZE_BYTES)].append(
                        _turn(workers, statement, start)
                    )
        for worker in workers:
            worker.stop()
    return turns


def _turn(workers: list[Worker], statement: str, start: int) -> Turn:
    times: list[list[float]] = [[] for _ in workers]
    for turn in range(_NUM_TURNS):
        for place in range(len(workers)):
            i = (start + turn + place) % len(workers)
            times[i].append(workers[i].nanoseconds(statement))
    before, again, now = (statistics.median(found) for found in times)
    return Turn(start, before, again, now, (min(times[0]), min(times[1]), min(times[2])))
