"""The tables of suite multi: all GPUs at once, and copies between GPUs."""

from collections.abc import Sequence
from dataclasses import replace

from isthmus.measure.run.model import Result, Run, Status
from isthmus.show.page import Table
from isthmus.show.tables.labels import BANDWIDTH, of_suite
from isthmus.show.tables.pivot import attempted, pivot, size_word

_SUITE, _GPU, _PEER = "multi", "gpu", "peer"
_AGGREGATE, _TOGETHER = "aggregate", "together"
_HEADS = {"alone": "alone", BANDWIDTH: "under load", _AGGREGATE: _TOGETHER}
_MEANINGS = (
    "alone, under load: one GPU's rate by its clock, while no other copies and while all do; "
    "together: bytes of all over the CPU's time from the common start to the last end"
)


def multi_tables(run: Run) -> list[Table]:
    """Lay out the medians; nothing if the suite was not run, or there is one GPU."""
    found = attempted(of_suite(run, _SUITE))
    tables = (
        _at_once([result for result in found if _PEER not in result.axes]),
        _among([r for r in found if _PEER in r.axes and r.metric == BANDWIDTH]),
    )
    return [table for table in tables if table is not None]


def multi_notes(run: Run) -> list[str]:
    """Explain the columns."""
    measured = {r.metric for r in of_suite(run, _SUITE) if r.status == Status.PASSED}
    return [_MEANINGS] if _AGGREGATE in measured else []


def _at_once(results: Sequence[Result]) -> Table | None:
    return pivot(
        "All GPUs at once, GB/s (median)",
        results,
        row={"test": lambda result: result.test, "size": size_word, "GPU": _gpu},
        column=_head,
        columns=_HEADS.values(),
    )


def _among(results: Sequence[Result]) -> Table | None:
    table = pivot(
        "GPU to GPU, GB/s (median; the GPU of the row copies)",
        results,
        row={"test": lambda result: result.test, "size": size_word, "GPU": _gpu},
        column=_peer,
        columns=map(_peer, sorted(results, key=lambda result: int(result.axes[_PEER]))),
    )
    if table is None:
        return None
    # No GPU is its own peer.
    return replace(table, rows=tuple(tuple(cell or "-" for cell in row) for row in table.rows))


def _head(result: Result) -> str:
    """Put the common result of several GPUs, by the CPU's clock, under "together"."""
    return _TOGETHER if result.clock == "host" else _HEADS.get(result.metric, result.metric)


def _gpu(result: Result) -> str:
    return str(result.axes.get(_GPU, "all"))


def _peer(result: Result) -> str:
    return f"GPU {result.axes[_PEER]}"
