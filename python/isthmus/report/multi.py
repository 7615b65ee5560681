"""The tables of suite multi: all GPUs at once, and GPUs among themselves."""

from collections.abc import Sequence

from isthmus.report.heading import title_suffix
from isthmus.report.numbers import gigabytes_per_second
from isthmus.report.page import Table
from isthmus.run.model import Result, Run, Status
from isthmus.sizes import format_size

_SUITE = "multi"
_GPU, _PEER = "gpu", "peer"
_ALL = "all"
_UNDER_LOAD, _ALONE, _AGGREGATE = "bandwidth", "alone", "aggregate"
_METRICS = (_ALONE, _UNDER_LOAD, _AGGREGATE)
_MEANINGS = (
    "alone, under load: of one GPU, by its clock, while no other copies and while all do; "
    "together: bytes of all over the CPU's time from the common start to the last end"
)


def multi_tables(run: Run) -> list[Table]:
    """Lay out the medians; nothing if the suite was not run, or there is one GPU."""
    found = [result for result in multi_results(run) if result.status != Status.WAIVED]
    among = [result for result in found if _PEER in result.axes]
    at_once = [result for result in found if _PEER not in result.axes]
    return [*_at_once(run, at_once), *_among(run, among)]


def multi_notes(run: Run) -> list[str]:
    """Say what the columns mean."""
    measured = {r.metric for r in multi_results(run) if r.status == Status.PASSED}
    if _AGGREGATE not in measured:
        return []
    return [_MEANINGS]


def multi_results(run: Run) -> list[Result]:
    """List the suite's results."""
    return [result for result in run.results if result.suite == _SUITE]


def _at_once(run: Run, results: Sequence[Result]) -> list[Table]:
    if not results:
        return []
    cells = {(*_row(result), _column(result)): _cell(result) for result in results}
    rows = list(dict.fromkeys(_row(result) for result in results))
    return [
        Table(
            title="All GPUs at once, GB/s (median)" + title_suffix(run.machine),
            heads=("test", "size", "GPU", "alone", "under load", "together"),
            rows=tuple(
                (
                    test,
                    format_size(size),
                    gpu,
                    *(cells.get((test, size, gpu, metric), "") for metric in _METRICS),
                )
                for test, size, gpu in rows
            ),
            num_text_columns=3,
        )
    ]


def _among(run: Run, results: Sequence[Result]) -> list[Table]:
    under_load = [result for result in results if result.metric == _UNDER_LOAD]
    if not under_load:
        return []
    peers = sorted({_axis(result, _PEER) for result in under_load}, key=int)
    cells = {(*_row(result), _axis(result, _PEER)): _cell(result) for result in under_load}
    rows = list(dict.fromkeys(_row(result) for result in under_load))
    return [
        Table(
            title="GPU to GPU, GB/s (median; the GPU of the row copies)"
            + title_suffix(run.machine),
            heads=("test", "size", "GPU", *(f"GPU {peer}" for peer in peers)),
            rows=tuple(
                (
                    test,
                    format_size(size),
                    gpu,
                    *(cells.get((test, size, gpu, peer), "-") for peer in peers),
                )
                for test, size, gpu in rows
            ),
            num_text_columns=3,
        )
    ]


def _column(result: Result) -> str:
    """Put what is measured of several as one, and by the CPU's clock, under "together"."""
    return _AGGREGATE if result.clock == "host" else result.metric


def _row(result: Result) -> tuple[str, int, str]:
    return result.test, result.bytes, _axis(result, _GPU) or _ALL


def _axis(result: Result, name: str) -> str:
    return str(result.axes.get(name, ""))


def _cell(result: Result) -> str:
    return result.status.value if result.median is None else gigabytes_per_second(result.median)
