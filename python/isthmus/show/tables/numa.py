"""The table of suite numa: a row for each CPU node and GPU, a column for each way."""

from isthmus.ground.spelling import cpu_list
from isthmus.measure.run.model import Result, Run, Status
from isthmus.show.page import Table
from isthmus.show.tables.labels import direction_of, of_suite
from isthmus.show.tables.pivot import pivot, size_word

SUITE = "numa"


def numa_tables(run: Run) -> list[Table]:
    """Lay out the medians; nothing if the suite was not run."""
    results = of_suite(run, SUITE)
    table = pivot(
        "CPU nodes and GPUs, GB/s (median; thread and memory on the node)",
        sorted(results, key=lambda result: (result.bytes, _node(result), _gpu(result))),
        row={
            "size": size_word,
            "CPU node": _node,
            "CPUs": lambda result: _cpus(run, _node(result)),
            "GPU": _gpu,
        },
        column=_head,
        columns=map(_head, results),
    )
    return [] if table is None else [table]


def numa_notes(run: Run) -> list[str]:
    """Say which node is near, and how placement was verified."""
    results = of_suite(run, SUITE)
    node = run.machine.device.numa_node
    lines = []
    if results and node is not None:
        lines.append(f"GPU {run.machine.device.ordinal} is attached to CPU node {node}")
    pages = [r.host_pages_by_node for r in results if r.status == Status.PASSED]
    if pages and all(pages):
        lines.append("CPU nodes: all host pages were found on the node, before the copies")
    elif pages:
        lines.append("CPU nodes: the kernel doesn't say where pages are; the host has one node")
    return lines


def _node(result: Result) -> str:
    return str(result.axes.get("node", ""))


def _gpu(result: Result) -> str:
    return str(result.axes.get("gpu", ""))


def _cpus(run: Run, node: str) -> str:
    found = [n for n in run.machine.host.numa_nodes if str(n.node) == node]
    return cpu_list(found[0].cpus) if found else ""


def _head(result: Result) -> str:
    return f"{direction_of(result)} {result.host_memory}"
