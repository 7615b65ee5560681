"""The table of suite numa: a row for each CPU node and GPU, a column for each way."""

from isthmus.report.heading import title_suffix
from isthmus.report.numbers import gigabytes_per_second
from isthmus.report.page import Table
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import format_size
from isthmus.spelling import cpu_list

_SUITE = "numa"
_NODE, _GPU = "node", "gpu"
_Row = tuple[int, str, str]


def numa_tables(run: Run) -> list[Table]:
    """Lay out the medians; nothing if the suite was not run."""
    results = numa_results(run)
    if not results:
        return []
    heads = list(dict.fromkeys(_head(result) for result in results))
    cells = {(*_row(result), _head(result)): _cell(result) for result in results}
    rows = sorted({_row(result) for result in results})
    return [
        Table(
            title="CPU nodes and GPUs, GB/s (median; thread and memory on the node)"
            + title_suffix(run.machine),
            heads=("size", "CPU node", "CPUs", "GPU", *heads),
            rows=tuple(
                (
                    format_size(size),
                    node,
                    _cpus(run, node),
                    gpu,
                    *(cells.get((size, node, gpu, head), "") for head in heads),
                )
                for size, node, gpu in rows
            ),
            num_text_columns=4,
        )
    ]


def numa_notes(run: Run) -> list[str]:
    """Say which node is near, and how placement was verified."""
    results = numa_results(run)
    node = run.machine.device.numa_node
    lines = []
    if results and node is not None:
        lines.append(f"GPU {run.machine.device.ordinal} hangs on CPU node {node}")
    pages = [r.host_pages_by_node for r in results if r.status == Status.PASSED]
    if pages and all(pages):
        lines.append("CPU nodes: all host pages were found on the node, before the copies")
    elif pages:
        lines.append("CPU nodes: the kernel doesn't say where pages lie; the host has one node")
    return lines


def numa_results(run: Run) -> list[Result]:
    """List the suite's results."""
    return [result for result in run.results if result.suite == _SUITE]


def _row(result: Result) -> _Row:
    return result.bytes, _axis(result, _NODE), _axis(result, _GPU)


def _axis(result: Result, name: str) -> str:
    return str(result.axes.get(name, ""))


def _cpus(run: Run, node: str) -> str:
    found = [n for n in run.machine.host.numa_nodes if str(n.node) == node]
    return cpu_list(found[0].cpus) if found else ""


def _head(result: Result) -> str:
    host = result.target if result.source == "device" else result.source
    return f"{(result.direction or '').upper()} {host}"


def _cell(result: Result) -> str:
    return result.status.value if result.median is None else gigabytes_per_second(result.median)
