"""The tables of suite `host`: copies within host memory."""

from isthmus.measure.run.model import Result, Run, Status
from isthmus.measure.run.naming import Kind
from isthmus.show.page import Table
from isthmus.show.tables.labels import of_kind
from isthmus.show.tables.pivot import attempted, by_size, pivot, size_word, sizes

# Ways of a copy within host memory, and how they store.
STORES = {"": "libc's memcpy", "cached": "64 KiB a call", "non_temporal": "past the caches"}
_BETWEEN_NODES = "node_to_node"


def host_tables(run: Run) -> list[Table]:
    """Lay out the medians, by one core and by all, and from node to node."""
    results = attempted(of_kind(run, Kind.HOST_MEMCPY))
    by_one = [result for result in results if result.way in STORES]
    between = [result for result in results if result.way == _BETWEEN_NODES]
    tables = (
        pivot(
            "Copies within host memory, GB/s (median; each byte read once and written once)",
            by_one,
            row={"stores": stores, "threads": threads},
            column=size_word,
            columns=sizes(by_one),
        ),
        pivot(
            "Copies from NUMA node to NUMA node, GB/s (median; by all cores of the first)",
            between,
            row={"size": size_word, "from": lambda result: f"node {result.axes.get('from_node')}"},
            column=_target,
            columns=map(_target, by_size(between)),
        ),
    )
    return [table for table in tables if table is not None]


def host_notes(run: Run) -> list[str]:
    """Say which copies the numbers limit."""
    results = of_kind(run, Kind.HOST_MEMCPY)
    if not results:
        return []
    measured = " (measured, though the device is emulated)" if run.machine.emulated else ""
    ceiling = (
        f"copies within host memory{measured}: the limit of every staged copy; small ones stay in "
        "the caches"
    )
    lines = [ceiling]
    between = [r for r in results if r.way == _BETWEEN_NODES and r.status == Status.PASSED]
    if len(between) == 1:
        lines.append("node to node: this host has one node")
    return lines


def stores(result: Result) -> str:
    """Say how a copy stores."""
    return STORES[result.way]


def threads(result: Result) -> str:
    """Write the most threads that could share a copy."""
    return str(result.num_threads)


def _target(result: Result) -> str:
    return f"to node {result.axes.get('to_node')}"
