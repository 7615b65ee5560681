"""
How long the runs of `isthmus reproduce partial-page-migration` take: those of the paper, others.

    .venv/bin/python benchmarks/sim/reproducing.py [THREADS]

Those of the paper (docs/simulate.md) are the 100 of its matrix (ten programs, five policies, two
bandwidths) and its sweeps: unit sizes, ranges and TLBs. The others are fault latencies, a third
bandwidth, other baselines, and other readings of its text. As in the command, the time includes
making the workloads, but not the pictures. Needs idle cores; CPU time, which is printed too,
depends less on other processes.
"""

import sys
import time
from collections.abc import Sequence

from isthmus.sim.library import Library
from isthmus.sim.paper.studies import BANDWIDTHS, BASELINES, VARIANTS, StudyRun, evaluation
from isthmus.sim.points import SweepPoint
from isthmus.sim.store import MemoryStore, Row
from isthmus.sim.sweep import Threads, num_cores, run_sweep


class Silent:
    """Is told about points and prints nothing."""

    def point_finished(self, num_finished: int, total: int, point: SweepPoint, row: Row) -> None:
        """Print nothing."""


def is_the_papers(run: StudyRun) -> bool:
    """Separate the paper's runs from the others."""
    theirs = run.study != "fault" and run.series not in (*VARIANTS, *BASELINES)
    return theirs and run.bandwidth in BANDWIDTHS[:2]


def distinct(runs: Sequence[StudyRun]) -> list[SweepPoint]:
    """Give each point once, in order."""
    return list({run.point.key: run.point for run in runs}.values())


def main(num_threads: int) -> None:
    """Measure the paper's runs, then the others with what is in memory by then."""
    runs = evaluation()
    own = distinct([run for run in runs if is_the_papers(run)])
    keys = {point.key for point in own}
    rest = [point for point in distinct(runs) if point.key not in keys]
    library = Library()
    print(f"{num_threads} threads")
    for name, points in (("the paper's own", own), ("the rest", rest)):
        begun, cpu_begun = time.perf_counter(), time.process_time()
        with MemoryStore() as store:
            run_sweep(
                points,
                store,
                runner=Threads(library.run, num_threads),
                observer=Silent(),
                should_stop=lambda: False,
            )
        seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu_begun
        print(f"{name}: {len(points)} runs, {seconds:.1f} s, {cpu_seconds:.1f} s of CPU")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else num_cores())
