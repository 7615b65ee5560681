"""The tables of suite `host`: copies within host memory."""

from isthmus.report.grid import grid
from isthmus.report.page import Table
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import format_size

_SUITE = "host"
_BETWEEN_NODES = "host_memcpy_node_to_node"
_STORES = {
    "host_memcpy": "libc's memcpy",
    "host_memcpy_cached": "64 KiB a call",
    "host_memcpy_non_temporal": "past the caches",
}


def host_tables(run: Run) -> list[Table]:
    """Lay out the medians, by one core and by all, and from node to node."""
    results = host_results(run)
    # The host is no device: its numbers are measured even where a device's are modelled.
    tables = [
        grid(
            "Copies within host memory, GB/s (median; each byte read once and written once)",
            ("stores", "threads"),
            [result for result in results if result.test in _STORES],
            lambda result: (_STORES[result.test], str(result.num_threads)),
            lambda result: format_size(result.bytes),
        ),
        grid(
            "Copies from NUMA node to NUMA node, GB/s (median; by all cores of the first)",
            ("size", "from"),
            [result for result in results if result.test == _BETWEEN_NODES],
            lambda result: (format_size(result.bytes), f"node {result.axes.get('from_node')}"),
            lambda result: f"to node {result.axes.get('to_node')}",
        ),
    ]
    return [table for table in tables if table is not None]


def host_notes(run: Run) -> list[str]:
    """Say what the numbers are the ceiling of."""
    results = host_results(run)
    if not results:
        return []
    measured = " (measured, though the device is emulated)" if run.machine.emulated else ""
    ceiling = (
        f"copies within host memory{measured}: what fits into the caches is in them; the ceiling "
        "of whatever stages through host memory"
    )
    lines = [ceiling]
    between = [r for r in results if r.test == _BETWEEN_NODES and r.status == Status.PASSED]
    if len(between) == 1:
        lines.append("node to node: this host has one node")
    return lines


def host_results(run: Run) -> list[Result]:
    """List the suite's results."""
    return [result for result in run.results if result.suite == _SUITE]
