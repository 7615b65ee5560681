"""
Workloads with more data than memory: experts, a growing cache of keys and values, a graph.

    .venv/bin/python benchmarks/sim/beyond_memory.py > benchmarks/sim/beyond_memory.json

Every number is modelled. Each workload runs with all of the machine's memory, and with half as much
as it touches. `ideal` and `programmer` have room for everything: their memory isn't modelled.
"""

import sys

from isthmus.json_text import json_text
from isthmus.sim.result import SimulationResult
from isthmus.sim.running import simulate

WORKLOADS = ("moe", "kv-decode", "bfs-frontier", "sssp-frontier")
MACHINES = ("h100-pcie5", "gh200-c2c")
REFERENCES = ("ideal", "programmer")
MIGRATING = ("tree", "ranges", "access-counter", "zero-copy")
PAGE_BYTES = 2 << 20


def half_of(touched_bytes: int) -> int:
    """Round half of what is touched up to whole pages."""
    return -(-touched_bytes // (2 * PAGE_BYTES)) * PAGE_BYTES


def row(workload: str, machine: str, policy: str, memory_bytes: int | None) -> dict[str, object]:
    """Simulate one run; with the machine's own memory if none is given."""
    settings = {} if memory_bytes is None else {"partitions.memory": f"{memory_bytes}B"}
    result: SimulationResult = simulate(workload, machine, policy, settings=settings)
    print(
        f"{workload} {machine} {policy} {memory_bytes}: {result.total_ps / 1e9:.3f} ms",
        file=sys.stderr,
    )
    return {
        "workload": workload,
        "machine": machine,
        "policy": policy,
        "memory_bytes": memory_bytes,
        "modelled_us": round(result.total_ps / 1e6, 1),
        "to_gpu_bytes": result.bytes_to_gpu,
        "touched_bytes": result.counts["touched_bytes"],
        "evictions": result.counts["evictions"],
        "line_requests": result.counts["line_requests"],
    }


def rows() -> list[dict[str, object]]:
    """Simulate all."""
    found = []
    for machine in MACHINES:
        for workload in WORKLOADS:
            found += [row(workload, machine, policy, None) for policy in REFERENCES]
            touched = found[-1]["touched_bytes"]
            assert isinstance(touched, int)
            for memory_bytes in (None, half_of(touched)):
                found += [row(workload, machine, policy, memory_bytes) for policy in MIGRATING]
    return found


if __name__ == "__main__":
    table = rows()
    sys.stdout.write(json_text({"modelled": True, "rows": table}))
