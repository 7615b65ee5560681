"""
Workloads whose data may be more than memory: experts, a cache of keys and values, graphs.

    .venv/bin/python benchmarks/sim/beyond_memory.py > benchmarks/sim/beyond_memory.json

Every number is modelled. `ideal`, `programmer` and `overlapped` have room for everything: their
memory isn't modelled. The others run with all of the machine's memory, and two of them with half of
what the workload touches, for `moe` with as much as a programmer's cache of experts takes.
"""

import sys
from collections.abc import Iterator, Mapping

from isthmus.ground.json_text import json_text
from isthmus.sim.library import Library
from isthmus.sim.points import Base, SweepPoint, build_points
from isthmus.sim.store import MemoryStore, Row
from isthmus.sim.sweep import Threads, num_cores, run_sweep

LESS_MEMORY = {
    "moe": "48MiB",
    "kv-decode": "20MiB",
    "bfs-frontier": "6MiB",
    "sssp-frontier": "10MiB",
}
MACHINES = ("h100-pcie5", "gh200-c2c")
POLICIES = (
    *("ideal", "programmer", "overlapped", "prefetch", "advise"),
    *("tree", "ranges", "access-counter", "zero-copy"),
)
WITH_LESS = ("tree", "access-counter")
COLUMNS = ("bytes_to_gpu", "touched_bytes", "evictions", "line_requests")
BASE = Base(workload=None, machine="h100-pcie5", policy="tree", seed=0, settings={})


class Progress:
    """Prints points as they finish."""

    def point_finished(self, num_finished: int, total: int, point: SweepPoint, row: Row) -> None:
        """Print one to stderr."""
        print(f"[{num_finished}/{total}] {point.label}: {row['error'] or 'ok'}", file=sys.stderr)


def places() -> Iterator[Mapping[str, str]]:
    """List what to run."""
    for workload, memory in LESS_MEMORY.items():
        for machine in MACHINES:
            for policy in POLICIES:
                yield {"workload": workload, "machine": machine, "policy": policy}
            for policy in WITH_LESS:
                yield {
                    "workload": workload,
                    "machine": machine,
                    "policy": policy,
                    "partitions.memory": memory,
                }


def main() -> None:
    """Run all, and print them as JSON."""
    points = build_points(BASE, list(places()))
    with MemoryStore() as store:
        run_sweep(
            points,
            store,
            runner=Threads(Library().run, num_cores()),
            observer=Progress(),
            should_stop=lambda: False,
        )
        rows = []
        for point in points:
            row = store.row(point.key)
            modelled_us = round(int(row["total_ps"] or 0) / 1e6, 1)
            rows.append(
                {**point.place, "modelled_us": modelled_us, **{name: row[name] for name in COLUMNS}}
            )
    sys.stdout.write(json_text({"modelled": True, "rows": rows}))


if __name__ == "__main__":
    main()
