"""
How fast a sweep is on workers of Dask, beside threads of one process on the same cores.

    python benchmarks/fleet/sweep.py --out benchmarks/fleet/sweep.json

The points are those of `isthmus reproduce partial-page-migration --grid`, or every Nth of them
(--every): the same mixture of programs, policies and answers. Both ways run them by turns, each
time in a new process, which makes its traces anew. The files must have the same bytes.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from isthmus.cli.fleet.places import Place
from isthmus.cli.fleet.sweep import runner_at
from isthmus.cli.sim.sweep import here
from isthmus.ground.json_text import json_text
from isthmus.sim.paper.grid import grid_points
from isthmus.sim.points import SweepPoint
from isthmus.sim.store import Row, SweepStore
from isthmus.sim.sweep import PointRunner, num_cores, run_sweep

WAYS = ("here", "fleet")


class Silent:
    """Is told about points and prints nothing."""

    def point_finished(self, num_finished: int, total: int, point: SweepPoint, row: Row) -> None:
        """Print nothing."""


def parsed() -> argparse.Namespace:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description="A sweep on workers, and here.")
    parser.add_argument("--every", type=int, default=41, help="only every Nth point of the grid")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each way")
    parser.add_argument("--way", choices=WAYS, help="run once, and print the figures")
    parser.add_argument("--out", type=Path, help="a file for the result")
    return parser.parse_args()


@contextmanager
def opened(way: str) -> Iterator[PointRunner]:
    """Start what runs points: as many at a time as there are cores, either way."""
    place = Place(workers=num_cores(), scheduler=None, hosts=None, python=sys.executable)
    with here(None) if way == "here" else runner_at(place) as runner:
        yield runner


def cpu_s() -> float:
    """Give the seconds of the CPU that this process and its children have used so far."""
    used = [resource.getrusage(one) for one in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ended = sum(one.ru_utime + one.ru_stime for one in used)
    ticks = 0
    for thread in Path("/proc/self/task").iterdir():
        for child in (thread / "children").read_text("ascii").split():
            # The fields after the name, which may have spaces: utime is the 14th of all.
            fields = Path(f"/proc/{child}/stat").read_text("ascii").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ended + ticks / os.sysconf("SC_CLK_TCK")


def measure(way: str, points: Sequence[SweepPoint]) -> dict[str, Any]:
    """Run the points once."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "grid.parquet"
        store = SweepStore(path, "benchmark", [point.key for point in points])
        begun_cpu, begun = cpu_s(), time.monotonic()
        with opened(way) as runner:
            ready_cpu, ready = cpu_s(), time.monotonic()
            with store:
                outcome = run_sweep(
                    points, store, runner=runner, observer=Silent(), should_stop=lambda: False
                )
            ended_cpu, ended = cpu_s(), time.monotonic()
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert outcome.num_finished == len(points)  # noqa: S101 - or the figures mean nothing
    return {
        "way": way,
        "start_s": round(ready - begun, 2),
        "start_cpu_s": round(ready_cpu - begun_cpu, 2),
        "sweep_s": round(ended - ready, 2),
        "sweep_cpu_s": round(ended_cpu - ready_cpu, 2),
        "load_average": round(os.getloadavg()[0], 1),
        "sha256": digest,
    }


def main() -> None:
    """Measure once, or by turns."""
    options = parsed()
    points = grid_points()[:: options.every]
    if options.way:
        print(json.dumps(measure(options.way, points)))
        return
    rows = []
    for number in range(options.rounds):
        # What comes second may find another machine: each comes first every other time.
        for way in WAYS[:: 1 if number % 2 == 0 else -1]:
            command = [sys.executable, __file__, "--way", way, "--every", str(options.every)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
            rows.append(json.loads(done.stdout.splitlines()[-1]))
            print(rows[-1], flush=True)
    assert len({row.pop("sha256") for row in rows}) == 1  # noqa: S101 - the same bytes
    middle = {
        part: {
            way: round(median(row[part] for row in rows if row["way"] == way), 2) for way in WAYS
        }
        for part in ("sweep_s", "sweep_cpu_s", "start_s", "start_cpu_s")
    }
    used = middle["sweep_cpu_s"]
    found = {
        "cores": num_cores(),
        "points": len(points),
        "rate_over_here": round(middle["sweep_s"]["here"] / middle["sweep_s"]["fleet"], 3),
        "rate_over_here_by_cpu": round(used["here"] / used["fleet"], 3),
        "medians": middle,
        "rounds": rows,
    }
    print(json.dumps({name: value for name, value in found.items() if name != "rounds"}))
    if options.out:
        options.out.write_text(json_text(found), "utf-8")


if __name__ == "__main__":
    main()
