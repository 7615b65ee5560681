"""The rates of a first look, each at its most telling size."""

from collections.abc import Iterable

from isthmus.ground.sizes import approximate_size, format_size
from isthmus.measure.run.model import Result, Run
from isthmus.measure.run.naming import Kind, directed_name
from isthmus.show.page import Table
from isthmus.show.tables.host import STORES, stores, threads
from isthmus.show.tables.labels import BANDWIDTH, of_kind
from isthmus.show.tables.pivot import attempted, median_cell, pivot

# A row of the first table, and the way of its tests.
_COPIES = {"pinned": "ce", "pageable": "pageable", "mapped, by a kernel": "sm"}
_DUPLEX, _BOTH = "duplex_memcpy_ce", "pinned, both directions at once"
_ALL_GPUS = (("host_to_all_memcpy_ce", "aggregate"), ("all_to_host_memcpy_ce", "aggregate"))
_BY_NODE = tuple(
    (f"numa_{directed_name(to, Kind.MEMCPY, 'ce')}", BANDWIDTH) for to in ("h2d", "d2h")
)


def bandwidth_table(run: Run) -> Table | None:
    """Lay out the largest copies, and the size at half of their bandwidth."""
    rows = [
        _bandwidth_row(
            run, name, *((directed_name(to, Kind.MEMCPY, way), BANDWIDTH) for to in ("h2d", "d2h"))
        )
        for name, way in _COPIES.items()
    ]
    rows.insert(2, _bandwidth_row(run, _BOTH, (_DUPLEX, "duplex_h2d"), (_DUPLEX, "duplex_d2h")))
    rows.append(_bandwidth_row(run, "pinned, all GPUs at once", *_ALL_GPUS))
    rows.append(_bandwidth_row(_far(run), "pinned, far CPU node", *_BY_NODE))
    shown = tuple(row for row in rows if row is not None)
    if not shown:
        return None
    return Table(
        title="Bandwidth, GB/s (median; n1/2: size that reaches half the peak rate)",
        heads=("memory", "size", "H2D", "D2H", "H2D n1/2", "D2H n1/2"),
        rows=shown,
        num_text_columns=2,
    )


def host_table(run: Run) -> Table | None:
    """Lay out copies within host memory, by one core and by all; no device is involved."""
    found = [result for result in of_kind(run, Kind.HOST_MEMCPY) if result.way in STORES]
    most = max((result.bytes for result in found), default=0)
    return pivot(
        f"Copies of {format_size(most)} within host memory, GB/s (median)",
        attempted(result for result in found if result.bytes == most),
        row={"threads": threads},
        column=stores,
    )


def _far(run: Run) -> Run:
    """Keep copies of this GPU with the CPU node that is slowest to upload from, if it is far."""
    gpu, near = str(run.machine.device.ordinal), run.machine.device.numa_node
    own = [r for r in attempted(run.results) if r.axes.get("gpu") == gpu and "node" in r.axes]
    far = [r for r in own if r.test == _BY_NODE[0][0] and r.axes["node"] != str(near)]
    slowest = min(far, key=lambda result: result.median or 0.0, default=None)
    kept = [r for r in own if slowest and r.axes["node"] == slowest.axes["node"]]
    nodes = {r.axes["node"] for r in own}
    return run.model_copy(update={"results": kept if str(near) in nodes else []})


def _bandwidth_row(run: Run, name: str, *ways: tuple[str, str]) -> tuple[str, ...] | None:
    found = [_of_largest_copy(_of(run, test, metric)) for test, metric in ways]
    size = next((format_size(result.bytes) for result in found if result), None)
    if size is None:
        return None
    rates = (median_cell(result) if result else "" for result in found)
    return (name, size, *rates, *(_half_size(run, test) for test, _ in ways))


def _half_size(run: Run, test: str) -> str:
    found = _of_largest_copy(_of(run, test, "half_bandwidth_size"))
    return "" if found is None or found.median is None else approximate_size(round(found.median))


def _of(run: Run, test: str, metric: str) -> list[Result]:
    return [result for result in run.results if (result.test, result.metric) == (test, metric)]


def _of_largest_copy(results: Iterable[Result]) -> Result | None:
    return max(attempted(results), key=lambda result: result.bytes, default=None)
