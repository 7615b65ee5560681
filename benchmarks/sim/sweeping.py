"""
How efficiently a sweep uses two cores: the same points with one thread, and with two, in turns.

    .venv/bin/python benchmarks/sim/sweeping.py

Prints seconds for each, the efficiency (time with one / time with two / 2), and line requests a
second. Workloads are generated before the clock starts. Needs two idle cores.
"""

import time
from statistics import median

from isthmus.sim.axes import points, read_axes
from isthmus.sim.library import Library
from isthmus.sim.points import Base, SweepPoint, build_points
from isthmus.sim.store import MemoryStore, Row
from isthmus.sim.sweep import Threads, num_cores, run_sweep

ROUNDS = 3
AXES = [
    "workload=bfs,lps,mum-140k",
    "policy=whole-page,ranges,tree",
    "link.bandwidth=16GB/s,32GB/s",
]
BASE = Base(workload=None, machine="paper-gtx480", policy="ranges", seed=0, settings={})


class Silent:
    """Is told about points and prints nothing."""

    def point_finished(self, num_finished: int, total: int, point: SweepPoint, row: Row) -> None:
        """Print nothing."""


def seconds(library: Library, num_threads: int, built: list[SweepPoint]) -> tuple[float, int]:
    """Time a sweep, and count its line requests."""
    begun = time.perf_counter()
    with MemoryStore() as store:
        run_sweep(
            built,
            store,
            runner=Threads(library.run, num_threads),
            observer=Silent(),
            should_stop=lambda: False,
        )
        lines = sum(int(store.row(point.key)["line_requests"] or 0) for point in built)
    return time.perf_counter() - begun, lines


def main() -> None:
    """Measure, in turns."""
    built = build_points(BASE, points(read_axes(AXES)))
    library = Library()
    for point in built:
        library.recording(point.workload, point.seed)
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for num_threads, found in times.items():
            took, lines = seconds(library, num_threads, built)
            found.append(took)
    one, two = median(times[1]), median(times[2])
    print(f"{len(built)} points, {lines} line requests, {num_cores()} cores")
    print(f"1 thread  {one:.2f} s  {lines / one / 1e6:.1f} M line requests/s")
    print(f"2 threads {two:.2f} s  {lines / two / 1e6:.1f} M line requests/s")
    print(f"efficiency on 2 cores {one / two / 2:.2f}")


if __name__ == "__main__":
    main()
